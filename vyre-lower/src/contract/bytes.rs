//! Contracts as bytes, for kernels that are kept: numbers in little-endian order, lists after their length.
//!
//! A condition keeps its text. What is read is checked: atoms read only those before them, and leaves are of the
//! program. There is one byte form of each contract, which whoever reads one compares with what it writes.

use vyre_foundation::ir::{BufferId, ParamId, Program};
use vyre_spec::Axis;

use super::poly::{Atom, DEGREE, NONE, Poly};
use super::{Condition, Contract};

/// Reads from the front of bytes; `None` where there are too few.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn i128(&mut self) -> Option<i128> {
        self.take(16)?.try_into().ok().map(i128::from_le_bytes)
    }
}

fn put(out: &mut Vec<u8>, n: u32) {
    out.extend(n.to_le_bytes());
}

fn put_poly(out: &mut Vec<u8>, poly: &Poly) {
    out.extend(poly.constant.to_le_bytes());
    put(out, poly.terms.len() as u32);
    for (monomial, coefficient) in &poly.terms {
        monomial.iter().for_each(|&id| put(out, id));
        out.extend(coefficient.to_le_bytes());
    }
}

/// A polynomial in atoms below `known`.
fn poly(bytes: &mut Bytes<'_>, known: usize) -> Option<Poly> {
    let mut poly = Poly::from(bytes.i128()?);
    for _ in 0..bytes.u32()? {
        let mut monomial = [NONE; DEGREE];
        for id in &mut monomial {
            *id = bytes.u32().filter(|&id| id == NONE || (id as usize) < known)?;
        }
        poly.terms.push((monomial, bytes.i128()?));
    }
    Some(poly)
}

impl Contract {
    /// The bytes; none of a contract without conditions.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.is_empty() {
            return out;
        }
        put(&mut out, self.atoms.len() as u32);
        for atom in &self.atoms {
            let (tag, id, operands) = match atom {
                Atom::Length(id) => (0, id.raw(), None),
                Atom::Param(id) => (1, id.raw(), None),
                Atom::Extent(axis) => (2, *axis as u32, None),
                Atom::Quotient(a, b) => (3, 0, Some((a, b))),
                Atom::Min(a, b) => (4, 0, Some((a, b))),
                Atom::Max(a, b) => (5, 0, Some((a, b))),
            };
            out.push(tag);
            put(&mut out, id);
            if let Some((a, b)) = operands {
                put_poly(&mut out, a);
                put_poly(&mut out, b);
            }
        }
        put(&mut out, self.conditions.len() as u32);
        for condition in &self.conditions {
            put_poly(&mut out, &condition.poly);
            put(&mut out, condition.text.len() as u32);
            out.extend(condition.text.as_bytes());
        }
        out
    }

    /// The contract of a kernel of `program` that [`Self::to_bytes`] wrote; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8], program: &Program) -> Option<Self> {
        let mut contract = Self::default();
        if bytes.is_empty() {
            return Some(contract);
        }
        let mut bytes = Bytes(bytes);
        for number in 0..bytes.u32()? as usize {
            let [tag] = bytes.take(1)?.try_into().ok()?;
            let id = bytes.u32()?;
            let mut operands = || Some((poly(&mut bytes, number)?, poly(&mut bytes, number)?));
            let composed = |make: fn(Poly, Poly) -> Atom, (a, b)| make(a, b);
            contract.atoms.push(match (tag, id) {
                (0, id) if (id as usize) < program.buffers().len() => Atom::Length(BufferId::new(id)),
                (1, id) if (id as usize) < program.params().len() => Atom::Param(ParamId::new(id)),
                (2, id) => Atom::Extent(Axis::ALL.into_iter().find(|axis| *axis as u32 == id)?),
                (3, 0) => composed(Atom::Quotient, operands()?),
                (4, 0) => composed(Atom::Min, operands()?),
                (5, 0) => composed(Atom::Max, operands()?),
                _ => return None,
            });
        }
        for _ in 0..bytes.u32()? {
            let poly = poly(&mut bytes, contract.atoms.len())?;
            let len = bytes.u32()? as usize;
            let text = std::str::from_utf8(bytes.take(len)?).ok()?.to_owned();
            contract.conditions.push(Condition { poly, text });
        }
        (bytes.0.is_empty() && !contract.is_empty()).then_some(contract)
    }
}

#[cfg(test)]
mod tests {
    use vyre_foundation::build::Kernel;
    use vyre_spec::{CompileOptions, DeviceProfile};

    use super::*;

    #[test]
    fn contracts_are_read_as_they_were_written_and_nothing_else_is() {
        let program = Kernel::build("shifted", |k| {
            let by = k.param::<u32>("by");
            let x = k.read_only::<u32>("x");
            let y = k.read_write::<u32>("y");
            k.domain([x.len()], |[i]| y.store(i + by, x.load(i) + y.load(i * 2)));
        })
        .unwrap();
        let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
        let kernel = crate::lower(&program, &DeviceProfile::reference(), &options).unwrap();
        let contract = &kernel.contract;
        assert!(contract.conditions().count() > 0);
        let bytes = contract.to_bytes();
        assert_eq!(Contract::from_bytes(&bytes, &program).as_ref(), Some(contract));
        for at in 0..bytes.len() {
            if at > 0 {
                assert_eq!(Contract::from_bytes(&bytes[..at], &program), None, "cut at {at}");
            }
            let mut changed = bytes.clone();
            changed[at] ^= 0x81;
            if let Some(other) = Contract::from_bytes(&changed, &program) {
                assert_eq!(other.to_bytes(), changed, "a flip at {at}");
            }
        }
        assert!(Contract::from_bytes(&[], &program).is_some_and(|contract| contract.is_empty()));
    }
}
