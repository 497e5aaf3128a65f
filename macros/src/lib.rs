//! The #[tool] attribute of toolyard.
