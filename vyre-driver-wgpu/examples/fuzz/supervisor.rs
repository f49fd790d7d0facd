//! The parent: deals seeds to children, and writes down what comes back, or that nothing does.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::worker::SURVIVED;
use crate::{PATIENCE, Plan};

/// How long a program that crashes children is made smaller.
const SHRINKING: Duration = Duration::from_secs(180);

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What came of the programs so far.
#[derive(Default)]
struct Totals {
    programs: u64,
    runs: u64,
    values: u64,
    refused: u64,
    wrong: u64,
    crashed: u64,
}

/// What the threads of the parent share.
struct Shared<'p> {
    plan: &'p Plan,
    begun: Instant,
    next: AtomicU64,
    totals: Mutex<Totals>,
    log: Mutex<Option<File>>,
}

/// Whether nothing was found.
pub(crate) fn run(plan: &Plan) -> Outcome<bool> {
    if let Some(directory) = plan.log.as_ref().and_then(|path| path.parent()) {
        std::fs::create_dir_all(directory)?;
    }
    let log = plan.log.as_ref().map(File::create).transpose()?;
    let shared = Shared {
        plan,
        begun: Instant::now(),
        next: AtomicU64::new(plan.first),
        totals: Mutex::default(),
        log: Mutex::new(log),
    };
    let results: Vec<Outcome<()>> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(|| shared.job())).collect();
        jobs.into_iter()
            .map(|job| job.join().unwrap_or_else(|_| Err("a thread of the parent panicked".into())))
            .collect()
    });
    shared.note(&shared.summary());
    for result in results {
        result?;
    }
    let totals = shared.totals.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(totals.wrong + totals.crashed == 0)
}

impl Shared<'_> {
    /// Runs seeds in a child until none are left, and in another child after one that ends.
    fn job(&self) -> Outcome<()> {
        let mut worker = Worker::start()?;
        let mut told = Instant::now();
        self.note(&format!("device: {}", worker.answer().map_err(|end| end.why)?.join(" ")));
        while let Some(seed) = self.deal() {
            let graph = if self.plan.graphs { "graph " } else { "" };
            match worker.ask(&format!("{graph}{seed}")) {
                Ok(lines) => self.count(&lines),
                Err(Ended { why: end, .. }) => {
                    let code = worker.stop();
                    self.totals.lock().unwrap_or_else(PoisonError::into_inner).crashed += 1;
                    worker = Worker::started()?;
                    let smaller = if self.plan.graphs { None } else { shrunk(&mut worker, seed)? };
                    let shown = match smaller {
                        Some(shown) => shown,
                        None => worker.ask(&format!("show {graph}{seed}")).unwrap_or_default(),
                    };
                    let shown = shown.join("\n");
                    self.note(&format!("CRASH seed {seed}: {end}; {code}\n{shown}"));
                }
            }
            if told.elapsed() > Duration::from_secs(60) {
                told = Instant::now();
                self.note(&self.summary());
            }
        }
        worker.stop();
        Ok(())
    }

    fn deal(&self) -> Option<u64> {
        let late = self.plan.minutes.is_some_and(|m| self.begun.elapsed().as_secs_f64() > 60.0 * m);
        let seed = self.next.fetch_add(1, Ordering::Relaxed);
        let over = self.plan.count.is_some_and(|count| seed - self.plan.first >= count);
        (!late && !over).then_some(seed)
    }

    fn count(&self, lines: &[String]) {
        let mut found = Vec::new();
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.programs += 1;
        for line in lines {
            let mut words = line.split(' ');
            match words.next() {
                Some("ran") => {
                    let mut number = || words.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
                    totals.runs += number();
                    totals.values += number();
                    totals.refused += number();
                }
                Some("wrong") => {
                    totals.wrong += 1;
                    found.push(format!("WRONG {}", &line["wrong ".len()..]));
                }
                _ => found.push(line.clone()),
            }
        }
        drop(totals);
        if !found.is_empty() {
            self.note(&found.join("\n"));
        }
    }

    fn summary(&self) -> String {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let Totals { programs, runs, values, refused, wrong, crashed } = &*totals;
        format!(
            "seeds from {}: {programs} programs, {runs} runs, {values} values, {refused} refused, {wrong} wrong, \
             {crashed} crashed, {} s",
            self.plan.first,
            self.begun.elapsed().as_secs()
        )
    }

    /// Writes to standard output and the log. What cannot be written is lost, and the run goes on.
    fn note(&self, text: &str) {
        println!("{text}");
        if let Some(log) = &mut *self.log.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(log, "{text}");
        }
    }
}

/// The smallest case found at whose program children crash. Each crash costs a child; the next one is told what came of
/// the candidates before. Nothing if it takes too long.
fn shrunk(worker: &mut Worker, seed: u64) -> Outcome<Option<Vec<String>>> {
    let (begun, mut answers) = (Instant::now(), String::new());
    while begun.elapsed() < SHRINKING {
        match worker.ask(&format!("shrink {seed} {answers}")) {
            Ok(lines) => return Ok(Some(lines.into_iter().filter(|line| line != SURVIVED).collect())),
            Err(Ended { lines, .. }) => {
                answers.extend(lines.iter().map(|_| '0').chain(['1']));
                worker.stop();
                *worker = Worker::started()?;
            }
        }
    }
    Ok(None)
}

/// Why an answer has no end, and the lines that came.
struct Ended {
    why: &'static str,
    lines: Vec<String>,
}

/// A child and what it writes.
struct Worker {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    fn start() -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg("--worker").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a child without pipes".into());
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    /// A child that has told its device.
    fn started() -> Outcome<Self> {
        let mut worker = Self::start()?;
        worker.answer().map_err(|end| end.why)?;
        Ok(worker)
    }

    /// The lines of the answer, or why there is none.
    fn ask(&mut self, question: &str) -> Result<Vec<String>, Ended> {
        // A child that has ended is noticed by its silence.
        let _ = writeln!(self.input, "{question}").and_then(|()| self.input.flush());
        self.answer()
    }

    fn answer(&mut self) -> Result<Vec<String>, Ended> {
        let mut lines = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line == "end" => return Ok(lines),
                Ok(line) => lines.push(line),
                Err(RecvTimeoutError::Timeout) => return Err(Ended { why: "no answer in time", lines }),
                Err(RecvTimeoutError::Disconnected) => return Err(Ended { why: "the process ended", lines }),
            }
        }
    }

    /// Ends the child, and says how it ended.
    fn stop(&mut self) -> String {
        let already = self.child.try_wait().ok().flatten();
        let _ = self.child.kill();
        match already.or_else(|| self.child.wait().ok()) {
            Some(status) => status.to_string(),
            None => "its status is unknown".to_owned(),
        }
    }
}
