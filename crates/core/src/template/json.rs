//! JSON that is passed on as it is.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value as text that is embedded unchanged wherever it is written: compact, keys sorted. Cloning shares it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// The text of `value`.
    pub fn of(value: &Value) -> Self {
        Self(value.to_string().into())
    }

    /// A part of a text that another [`Json`] holds.
    pub(super) fn canonical(part: &str) -> Self {
        Self(part.into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value that the text stands for.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// The text in the form that serde embeds.
    pub fn to_raw(&self) -> Result<Box<RawValue>, serde_json::Error> {
        RawValue::from_string(self.0.as_ref().to_owned())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}
