//! Device work is data: a list that uploads, copies and reads back, and the error for a backend that is not linked.
use vyre_driver::{Command, CommandList, Span, backend_registration};

fn main() {
    let mut list = CommandList::new().labeled(Some("copy".into()));
    let (source, target) = (list.transient(16), list.transient(16));
    list.upload(source, 0, &[7; 16]);
    let whole = |buffer| Span { buffer, offset: 0, len: 16 };
    list.push(Command::Copy { from: whole(source), to: whole(target) });
    list.read(whole(target));
    for command in list.commands() {
        println!("{command:?}");
    }
    // A program that links a backend gives such a list to its `submit`.
    if let Err(error) = backend_registration("wgpu") {
        println!("{error}\nhelp: {}", error.help());
    }
}
