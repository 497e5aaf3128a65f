//! Chromium without a window.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A page in a file, for the browser.
pub(super) struct Page {
    folder: tempfile::TempDir,
}

impl Page {
    /// Keeps a page; `script` is run at its end, to do what a person would do.
    pub(super) fn new(page: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("<script>{script}</script></body>");
        assert_eq!(page.matches("</body>").count(), 1);
        std::fs::write(folder.path().join("page.html"), page.replace("</body>", &script)).unwrap();
        Self { folder }
    }

    /// What the page has become once everything has run.
    pub(super) fn document(&self) -> String {
        let output = self.browse(&["--dump-dom".into()]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Takes a picture `width` pixels wide, and leaves it where people can look at it, with the page.
    pub(super) fn picture(&self, name: &str, width: u32, height: u32) -> PathBuf {
        let left = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let picture = left.join(format!("{name}-{width}.png"));
        std::fs::copy(self.folder.path().join("page.html"), left.join(format!("{name}.html"))).unwrap();
        let _ = std::fs::remove_file(&picture); // of an earlier run, if there was one
        // Too narrow a window is widened by the browser, but a frame in it is not.
        let frame =
            format!("<iframe src=page.html style='border:0;width:{width}px;height:{height}px'></iframe>");
        std::fs::write(self.folder.path().join("frame.html"), format!("<body style='margin:0'>{frame}"))
            .unwrap();
        self.browse_file(
            "frame.html",
            &[
                format!("--screenshot={}", picture.display()),
                format!("--window-size={},{height}", width.max(500)),
            ],
        );
        picture
    }

    fn browse(&self, options: &[String]) -> Output {
        self.browse_file("page.html", options)
    }

    fn browse_file(&self, file: &str, options: &[String]) -> Output {
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={}", self.folder.path().join("profile").display()))
            .args(options)
            .arg(format!("file://{}", self.folder.path().join(file).display()))
            .output()
            .expect("chromium runs (Debian: apt-get install chromium)");
        assert!(output.status.success(), "{output:?}");
        output
    }
}
