//! The page around the data.

use std::io::{self, Write};

use super::{collect::Timeline, columns::Data};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// In the order in which they need each other.
const SCRIPTS: [&str; 12] = [
    include_str!("script/data.js"),
    include_str!("script/words.js"),
    include_str!("script/lanes.js"),
    include_str!("script/draw.js"),
    include_str!("script/bars.js"),
    include_str!("script/lists.js"),
    include_str!("script/focus.js"),
    include_str!("script/overview.js"),
    include_str!("script/view.js"),
    include_str!("script/search.js"),
    include_str!("script/table.js"),
    include_str!("script/start.js"),
];

impl Timeline {
    /// Writes the page.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_page(&self, out: &mut impl Write) -> io::Result<()> {
        let mut rest = PAGE;
        while let Some((before, after)) = rest.split_once("{{") {
            out.write_all(before.as_bytes())?;
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            match name {
                "style" => out.write_all(STYLE.as_bytes())?,
                "data" => self.write_data(out)?,
                _ => SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes()))?,
            }
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }

    /// Writes the data such that it cannot end the element that it is in: inside JSON, `<` is only in
    /// texts, which may be anybody's.
    fn write_data(&self, out: &mut impl Write) -> io::Result<()> {
        let data = serde_json::to_string(&Data::of(self))?;
        out.write_all(data.replace('<', "\\u003c").as_bytes())
    }
}
