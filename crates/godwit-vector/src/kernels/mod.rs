//! Kernels: loops over dense vectors, one file per family.
