//! Pod templates as canonical JSON: compared, hashed and passed on, never decoded into a typed pod spec.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value as bytes that are embedded unchanged wherever it is written. Cloning shares them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// The compact text of `value`, its keys sorted.
    pub fn of(value: &Value) -> Self {
        Self(value.to_string().into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
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
