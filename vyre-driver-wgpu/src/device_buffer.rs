//! Device buffers by the names of this backend's own: each is the contract's method.

use vyre_driver::{BackendError, DeviceBuffer, VyreBackend};

use crate::backend::WgpuBackend;

impl WgpuBackend {
    /// Allocates `byte_len` bytes on the device, all 0, that programs may read and write.
    ///
    /// # Errors
    /// As [`VyreBackend::allocate_device_buffer`].
    pub fn allocate_wgpu_device_buffer(
        &self,
        byte_len: usize,
    ) -> Result<Box<dyn DeviceBuffer>, BackendError> {
        self.allocate_device_buffer(byte_len)
    }

    /// Writes bytes at the start of a buffer; what they do not reach keeps its contents.
    ///
    /// # Errors
    /// As [`VyreBackend::upload_device_buffer`].
    pub fn upload_wgpu_device_buffer(
        &self,
        buffer: &mut dyn DeviceBuffer,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        self.upload_device_buffer(buffer, bytes)
    }

    /// Reads all of a buffer.
    ///
    /// # Errors
    /// As [`VyreBackend::download_device_buffer`].
    pub fn download_wgpu_device_buffer(&self, buffer: &dyn DeviceBuffer) -> Result<Vec<u8>, BackendError> {
        self.download_device_buffer(buffer)
    }

    /// Frees a buffer. Dropping one does not.
    ///
    /// # Errors
    /// As [`VyreBackend::free_device_buffer`].
    pub fn free_wgpu_device_buffer(&self, buffer: Box<dyn DeviceBuffer>) -> Result<(), BackendError> {
        self.free_device_buffer(buffer)
    }
}
