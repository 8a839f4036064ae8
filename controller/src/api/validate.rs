//! What the schema of a CRD cannot say of one object.
