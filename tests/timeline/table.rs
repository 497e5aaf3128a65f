//! The table and the picture of a run in which everything happens.

use std::collections::BTreeMap;

use toolyard::{Report, result::micros};

use super::{browser::Page, page, story};

/// The cells of the table on the page by label, row by row.
fn rows(document: &str) -> Vec<BTreeMap<String, String>> {
    let body = document.split_once("<tbody").unwrap().1.split_once("</tbody>").unwrap().0;
    let rows = body.split("<tr ").skip(1);
    rows.map(|row| row.split("<td ").skip(1).flat_map(cell).collect()).collect()
}

/// The text of a cell under its label, and its exact value under the label with a star.
fn cell(cell: &str) -> Vec<(String, String)> {
    let attribute = |name: &str| {
        let after = cell.split_once(&format!(" {name}=\""))?.1;
        Some(plain(after.split_once('"')?.0))
    };
    let label = attribute("data-label").unwrap();
    let text = cell.split_once('>').unwrap().1.split_once("</td>").unwrap().0;
    // A cell with a button has its text inside.
    let text = text.rsplit_once("</button>").map_or(text, |(button, _)| button.split_once('>').unwrap().1);
    let exact = attribute("data-value").map(|value| (format!("{label}*"), value));
    std::iter::once((label, plain(text))).chain(exact).collect()
}

fn plain(html: &str) -> String {
    html.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&nbsp;", " ")
        .replace("&amp;", "&")
}

/// Compares the rows of one list with its results.
fn assert_equal(rows: &[BTreeMap<String, String>], report: &Report) {
    let prefix = format!("{} · ", report.run);
    let rows: Vec<_> = rows.iter().filter(|row| row["List"].starts_with(&prefix)).collect();
    assert_eq!(rows.len(), report.results.len());
    for (row, result) in rows.iter().zip(&report.results) {
        let expected = [
            format!("#{}", result.index),
            result.id.as_text().unwrap_or_default().to_owned(),
            result.tool.to_string(),
            result.outcome.to_string(),
            result.error.clone().unwrap_or_default(),
        ];
        assert_eq!(["Call", "Id", "Tool", "Outcome", "Error"].map(|label| row[label].clone()), expected);
        assert_eq!(row["Ran*"], micros(result.elapsed).to_string(), "{row:?}");
    }
}

#[test]
fn the_table_in_the_browser_equals_the_results() {
    let (reports, timeline) = story::run();
    let outcomes: std::collections::BTreeSet<_> =
        reports.iter().flat_map(|report| &report.results).map(|result| result.outcome.as_str()).collect();
    for outcome in ["ok", "failed", "timed_out", "suspended", "denied", "unknown_tool", "panicked", "skipped"]
    {
        assert!(outcomes.contains(outcome), "no call of the story ended {outcome}: {outcomes:?}");
    }
    let rows = rows(&Page::new(&page(&timeline), "").document());
    assert_eq!(rows.len(), 3 + reports.iter().map(|report| report.results.len()).sum::<usize>());
    reports.iter().for_each(|report| assert_equal(&rows, report));
}

#[test]
fn pictures_can_be_taken_at_both_widths() {
    let (_, timeline) = story::run();
    let page = Page::new(&page(&timeline), "");
    for (width, height) in [(1_280, 1_500), (400, 1_500)] {
        let picture = std::fs::read(page.picture("story", width, height)).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{} bytes", picture.len());
    }
}
