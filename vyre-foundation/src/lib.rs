//! The Vyre compute IR: builder, text and wire forms, checker, reference machine and optimiser
#![forbid(unsafe_code)]
