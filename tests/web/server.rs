//! A server whose every byte a test decides.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use parking_lot::Mutex;

/// A server on a port of its own. Its connections are closed when it is dropped.
pub(super) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    ended: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

/// What came: the first line, the headers with names in lower case, the body.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }

    /// Reads one request; `None` when no more come.
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let split = |line: &String| {
            line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        };
        let headers: Vec<_> = lines[1..].iter().filter_map(split).collect();
        let mut request = Self { line: lines[0].clone(), headers, body: String::new() };
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        request.body = String::from_utf8(body).unwrap();
        Some(request)
    }
}

impl Server {
    /// Starts a server that answers request number `n`, from 1, as `answer` writes; false closes the connection.
    pub(super) fn start(
        answer: impl Fn(usize, &Request, &mut TcpStream) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let open = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let (seen, kept, over, answer) = (requests.clone(), open.clone(), ended.clone(), Arc::new(answer));
        let accept = move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                if over.load(Ordering::SeqCst) {
                    return;
                }
                kept.lock().push(stream.try_clone().unwrap());
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some(request) = Request::read(&mut reader) {
                        let number = {
                            let mut seen = seen.lock();
                            seen.push(request.clone());
                            seen.len()
                        };
                        if !answer(number, &request, &mut stream) {
                            break;
                        }
                    }
                    // The client may have closed it.
                    let _ = stream.shutdown(Shutdown::Both);
                });
            }
        };
        Self { port, requests, open, ended, listener: Some(thread::spawn(accept)) }
    }

    /// Starts a server that sends the same bytes for every request and closes the connection.
    pub(super) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, _, stream| {
            let _ = stream.write_all(&answer);
            false
        })
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        for stream in self.open.lock().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

/// A whole answer.
pub(super) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

/// Writes a whole answer and keeps the connection.
pub(super) fn send(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}
