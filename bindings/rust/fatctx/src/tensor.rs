//! The tensors of weight blobs.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::{Error, ErrorCode, Result};
use crate::ffi::{borrowed, call, copied, owner, slice, static_text, Texts};
use crate::sys;
use crate::view::ViewHandle;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $constant:ident,)*) => {
        /// The type of the elements of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DType {
            $($(#[$doc])* $name,)*
            /// A type of a newer version.
            Other(u32),
        }

        impl DType {
            /// Returns the type of a number of the format.
            pub fn from_number(number: u32) -> DType {
                match number {
                    $(sys::$constant => DType::$name,)*
                    other => DType::Other(other),
                }
            }

            /// Returns the number of the format, which never changes.
            pub fn number(self) -> u32 {
                match self {
                    $(DType::$name => sys::$constant,)*
                    DType::Other(number) => number,
                }
            }
        }
    };
}

dtypes! {
    /// IEEE 754 of 32 bits.
    F32 = FATCTX_DTYPE_F32,
    /// IEEE 754 of 64 bits.
    F64 = FATCTX_DTYPE_F64,
    /// IEEE 754 of 16 bits.
    F16 = FATCTX_DTYPE_F16,
    /// The upper 16 bits of an `F32`.
    Bf16 = FATCTX_DTYPE_BF16,
    /// Signed, 8 bits.
    I8 = FATCTX_DTYPE_I8,
    /// Signed, 16 bits.
    I16 = FATCTX_DTYPE_I16,
    /// Signed, 32 bits.
    I32 = FATCTX_DTYPE_I32,
    /// Signed, 64 bits.
    I64 = FATCTX_DTYPE_I64,
    /// Unsigned, 8 bits.
    U8 = FATCTX_DTYPE_U8,
    /// Unsigned, 16 bits.
    U16 = FATCTX_DTYPE_U16,
    /// Unsigned, 32 bits.
    U32 = FATCTX_DTYPE_U32,
    /// Unsigned, 64 bits.
    U64 = FATCTX_DTYPE_U64,
    /// One byte, 0 or 1.
    Bool = FATCTX_DTYPE_BOOL,
    /// Signed, 4 bits.
    I4 = FATCTX_DTYPE_I4,
    /// Unsigned, 4 bits.
    U4 = FATCTX_DTYPE_U4,
}

impl DType {
    /// Returns the word of the library: "float32".
    pub fn name(self) -> &'static str {
        static_text(unsafe { sys::fatctx_dtype_name(self.number()) })
    }

    /// Returns the bits of an element; 0 for a type that the library does not know.
    pub fn bits(self) -> u32 {
        unsafe { sys::fatctx_dtype_bits(self.number()) }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type of Rust that has the bytes of a [`DType`]. All of its bit patterns are values.
pub trait Element: sealed::Sealed + Copy + 'static {
    /// The element type of tensors.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty = $dtype:ident),*) => {
        $(
            impl sealed::Sealed for $rust {}
            impl Element for $rust {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}

elements!(f32 = F32, f64 = F64, i8 = I8, i16 = I16, i32 = I32, i64 = I64, u8 = U8, u16 = U16, u32 = U32, u64 = U64);

owner!(TableHandle, fatctx_tensor_table, fatctx_tensor_table_close);

/// The tensors of a weight blob, by name and in the order of names. Clones are the same table.
#[derive(Clone)]
pub struct TensorTable {
    handle: Arc<TableHandle>,
    size: u64,
    weights_id: u32,
}

impl TensorTable {
    pub(crate) fn made(
        function: impl FnOnce(*mut sys::fatctx_tensor_table, *mut sys::fatctx_error) -> i32,
    ) -> Result<TensorTable> {
        let mut handle = sys::fatctx_tensor_table::default();
        call(|error| function(&mut handle, error))?;
        let handle = Arc::new(TableHandle(handle));
        let (mut size, mut weights_id) = (0, 0);
        call(|error| unsafe { sys::fatctx_tensor_table_size(handle.0, &mut size, &mut weights_id, error) })?;
        Ok(TensorTable { handle, size, weights_id })
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.size as usize
    }

    /// Returns true if the blob has no tensor.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Returns the id of the weight blob.
    pub fn weights_id(&self) -> u32 {
        self.weights_id
    }

    /// Returns the facts of the tensors, in the bytewise order of their names.
    pub fn iter(&self) -> Tensors<'_> {
        Tensors { table: self, next: 0 }
    }

    /// Returns the facts of a tensor by its place in the order of names.
    pub fn at(&self, index: usize) -> Result<TensorInfo<'_>> {
        let mut raw = sys::fatctx_tensor_info::default();
        call(|error| unsafe { sys::fatctx_tensor_table_at(self.handle.0, index as u64, &mut raw, error) })?;
        // Name and shape borrow from the table, which stays open as long as the borrow of self.
        unsafe {
            Ok(TensorInfo {
                name: borrowed(raw.name)?,
                dtype: DType::from_number(raw.dtype),
                shape: slice(raw.shape, raw.rank),
                offset_in_blob: raw.offset_in_blob,
                size: raw.size_bytes,
                is_alias: raw.alias != 0,
            })
        }
    }

    /// Makes a view of a tensor by name. The error names the nearest name.
    pub fn view(&self, name: &str) -> Result<TensorView> {
        let mut texts = Texts::default();
        let name = texts.add(name)?;
        TensorView::made(|view, error| unsafe { sys::fatctx_tensor_table_view(self.handle.0, name, view, error) })
    }

    /// Makes a view of a tensor by its place in the order of names.
    pub fn view_at(&self, index: usize) -> Result<TensorView> {
        TensorView::made(|view, error| unsafe {
            sys::fatctx_tensor_table_view_at(self.handle.0, index as u64, view, error)
        })
    }
}

impl fmt::Debug for TensorTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TensorTable").field("weights_id", &self.weights_id).field("len", &self.size).finish()
    }
}

impl<'t> IntoIterator for &'t TensorTable {
    type Item = Result<TensorInfo<'t>>;
    type IntoIter = Tensors<'t>;

    fn into_iter(self) -> Tensors<'t> {
        self.iter()
    }
}

/// Facts about a tensor. They borrow from the table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TensorInfo<'t> {
    /// The name.
    pub name: &'t str,
    /// The type of the elements.
    pub dtype: DType,
    /// Elements per dimension, outermost first.
    pub shape: &'t [u64],
    /// The place of its first byte in the weight blob.
    pub offset_in_blob: u64,
    /// The number of its bytes.
    pub size: u64,
    /// The tensor shares bytes with another one on purpose.
    pub is_alias: bool,
}

/// An iterator over the tensors of a table, in the bytewise order of names.
#[derive(Clone, Debug)]
pub struct Tensors<'t> {
    table: &'t TensorTable,
    next: usize,
}

impl<'t> Iterator for Tensors<'t> {
    type Item = Result<TensorInfo<'t>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.table.len() {
            return None;
        }
        self.next += 1;
        Some(self.table.at(self.next - 1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.table.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Tensors<'_> {}
impl FusedIterator for Tensors<'_> {}

struct Shown {
    handle: ViewHandle,
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    strides_bytes: Vec<u64>,
    offset_in_blob: u64,
    is_alias: bool,
}

/// The read-only bytes of a tensor, with its facts.
///
/// Like a [`RecordView`](crate::RecordView) it keeps its mapping alive, and clones are the same view.
#[derive(Clone)]
pub struct TensorView {
    shown: Arc<Shown>,
}

impl TensorView {
    pub(crate) fn made(
        function: impl FnOnce(*mut sys::fatctx_view, *mut sys::fatctx_error) -> i32,
    ) -> Result<TensorView> {
        let handle = ViewHandle::made(function)?;
        let mut raw = sys::fatctx_tensor_info::default();
        call(|error| unsafe { sys::fatctx_view_tensor(handle.0, &mut raw, error) })?;
        // All of it borrows from the view, which is open here.
        let shown = unsafe {
            Shown {
                name: copied(raw.name),
                dtype: DType::from_number(raw.dtype),
                shape: slice(raw.shape, raw.rank).to_vec(),
                strides_bytes: slice(raw.strides_bytes, raw.rank).to_vec(),
                offset_in_blob: raw.offset_in_blob,
                is_alias: raw.alias != 0,
                handle,
            }
        };
        Ok(TensorView { shown: Arc::new(shown) })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.shown.name
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        self.shown.dtype
    }

    /// Returns the elements per dimension, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shown.shape
    }

    /// Returns the bytes from one element to the next in each dimension; empty for types below a byte.
    pub fn strides_bytes(&self) -> &[u64] {
        &self.shown.strides_bytes
    }

    /// Returns the place of its first byte in the weight blob.
    pub fn offset_in_blob(&self) -> u64 {
        self.shown.offset_in_blob
    }

    /// Returns true if the tensor shares bytes with another one on purpose.
    pub fn is_alias(&self) -> bool {
        self.shown.is_alias
    }

    /// Returns the elements, in row-major order, where they are mapped.
    ///
    /// ```
    /// use fatctx::{Container, DType, ErrorCode, PackRecord, PackTensor, Packer};
    /// # let path = std::env::temp_dir().join(format!("fatctx-tensor-{}.fatctx", std::process::id()));
    /// let bytes: Vec<u8> = [1.5f32, -2.0, 3.25].iter().flat_map(|value| value.to_le_bytes()).collect();
    /// let tensor = PackTensor::new("bias", DType::F32, [3]);
    /// let mut packer = Packer::new()?;
    /// packer.add(PackRecord::weight_blob("weights", &bytes).tensors([tensor]))?;
    /// packer.publish(&path)?;
    ///
    /// let container = Container::open(&path)?;
    /// let bias = container.tensor(container.find("weights")?.id(), "bias")?;
    /// assert_eq!(bias.values::<f32>()?, [1.5, -2.0, 3.25]);
    /// assert_eq!(bias.values::<i32>().unwrap_err().code(), ErrorCode::InvalidArgument);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), fatctx::Error>(())
    /// ```
    ///
    /// # Errors
    /// `invalid_argument` for another element type, `unsupported` if the blob places the tensor at an address that is
    /// not aligned for it, or if this machine is not little-endian.
    pub fn values<T: Element>(&self) -> Result<&[T]> {
        let refuse = |code, reason: String| Err(Error::new(code, format!("tensor {:?} {reason}", self.name())));
        if T::DTYPE != self.dtype() {
            return refuse(ErrorCode::InvalidArgument, format!("has elements of {}, not {}", self.dtype(), T::DTYPE));
        }
        if cfg!(target_endian = "big") {
            return refuse(ErrorCode::Unsupported, "is little-endian and this machine is not; swap its bytes".into());
        }
        // Every bit pattern of T is a value, and the middle part is aligned.
        let (before, values, after) = unsafe { self.align_to::<T>() };
        if before.is_empty() && after.is_empty() {
            return Ok(values);
        }
        let alignment = std::mem::align_of::<T>();
        refuse(ErrorCode::Unsupported, format!("is not aligned to {alignment} bytes; copy its bytes first"))
    }
}

impl Deref for TensorView {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.shown.handle.bytes()
    }
}

impl AsRef<[u8]> for TensorView {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for TensorView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TensorView")
            .field("name", &self.name())
            .field("dtype", &self.dtype())
            .field("shape", &self.shape())
            .finish()
    }
}
