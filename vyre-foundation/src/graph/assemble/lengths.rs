//! Lengths that are known to be equal or not, or that only a run can compare.

use super::Assembly;
use crate::diag::{Code, Diagnostic};
use crate::graph::{GraphSite, GraphValueId, Requirement, Source};

impl Assembly<'_> {
    pub(super) fn constant(&mut self, id: GraphValueId, bytes: u64) {
        let value = &self.values[id.index()];
        let size = u64::from(value.element.size());
        let message = match self.dims.as_literal(self.elements[id.index()]) {
            _ if !bytes.is_multiple_of(size) => {
                format!("`{}` has {bytes} bytes, no whole number of {} elements", value.name, value.element)
            }
            None => {
                self.requirements.push(Requirement::Constant { value: id });
                return;
            }
            Some(needs) if needs != bytes / size => {
                format!("`{}` has {} elements, but its shape has {needs}", value.name, bytes / size)
            }
            Some(_) => return,
        };
        self.findings.push(
            Diagnostic::new(Code::GraphShape, GraphSite::Value(id), message)
                .with_help("change the shape, or give as many elements as it has"),
        );
    }

    /// Checks what retained values become.
    pub(super) fn retained(&mut self) {
        for at in 0..self.draft.sources.len() {
            let Source::Retained { next: Some(next) } = self.values[at].source else { continue };
            let (value, becomes) = (&self.values[at], &self.values[next.index()]);
            let id = GraphValueId::new(at as u32);
            if !self.known[next.index()] {
                continue;
            }
            let (had, has) = (self.elements[at], self.elements[next.index()]);
            let (code, message) = match (self.dims.as_literal(had), self.dims.as_literal(has)) {
                _ if value.element != becomes.element => {
                    let (a, b) = (value.element, becomes.element);
                    let message =
                        format!("`{}` is of {a}, but becomes `{}`, of {b}", value.name, becomes.name);
                    (Code::GraphType, message)
                }
                _ if had == has => continue,
                (Some(a), Some(b)) => {
                    let message =
                        format!("`{}` has {a} elements, but becomes `{}`, of {b}", value.name, becomes.name);
                    (Code::GraphShape, message)
                }
                _ => {
                    self.requirements.push(Requirement::Update { value: id, next });
                    continue;
                }
            };
            self.findings.push(
                Diagnostic::new(code, GraphSite::Value(id), message)
                    .with_related(GraphSite::Value(next), "what it becomes")
                    .with_help("a retained value keeps its type and number of elements"),
            );
        }
    }
}
