//! Device buffers as objects.

use std::fmt;

use crate::Resource;

/// A buffer on a backend's device, as an object. It wraps the one notion of a handle there is; dropping it
/// does not free the buffer.
pub trait DeviceBuffer: Send + Sync + fmt::Debug {
    /// The handle.
    fn resource(&self) -> Resource;

    /// Its bytes.
    fn byte_len(&self) -> usize {
        self.resource().len as usize
    }
}

/// A handle is a device buffer.
impl DeviceBuffer for Resource {
    fn resource(&self) -> Resource {
        *self
    }
}
