mod calculator;
mod python;
