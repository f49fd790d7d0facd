//! The queue on the reference machine.

use vyre_driver::{ReferenceBackend, VyreBackend};
use vyre_foundation::build::Kernel;
use vyre_spec::{Capability, CapabilitySet, DeviceProfile};

use super::trial::{self, Trial};
use super::*;

fn options() -> QueueOptions {
    QueueOptions { invocations: Some(64), ..QueueOptions::default() }
}

fn mixing(layout: QueueLayout, budget: u32) -> (WorkQueue, Opcode, ReferenceBackend) {
    let backend = ReferenceBackend::default();
    let mut compiler = QueueCompiler::new(layout).with_budget(budget);
    let mix = compiler.handler(&trial::mix().unwrap()).unwrap();
    (compiler.compile(&backend).unwrap(), mix, backend)
}

#[test]
fn random_graphs_run_each_task_once_and_see_what_was_stored() {
    for (seed, window, lanes, budget) in [(1, 4, 1, 4096), (2, 100, 3, 4096), (3, 1, 1, 7), (4, 30, 2, 1)] {
        let layout = QueueLayout { lanes, ..QueueLayout::default() };
        let (queue, mix, backend) = mixing(layout, budget);
        let trial = Trial::random(mix, 300, seed, window, lanes);
        let report = trial.run(&queue, &backend, &options()).unwrap();
        assert_eq!((report.done(), report.of(mix).done, report.added), (300, 300, 0));
    }
}

#[test]
fn adversarial_graphs_are_accepted_exactly_if_they_run() {
    let (queue, mix, backend) = mixing(QueueLayout::default(), 4096);
    let found = trial::adversaries(&queue, &backend, mix, 0..10_000, &options()).unwrap();
    println!("{found:?}");
}
