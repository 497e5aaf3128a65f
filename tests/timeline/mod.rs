//! The page of a timeline, in a real browser.

mod browser;
mod hands;
mod many;
mod story;
mod table;
mod untrusted;

use toolyard::timeline::Timeline;

/// The page as text.
fn page(timeline: &Timeline) -> String {
    let mut page = Vec::new();
    timeline.write_page(&mut page).unwrap();
    String::from_utf8(page).unwrap()
}
