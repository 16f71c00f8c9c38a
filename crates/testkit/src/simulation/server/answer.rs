//! From a shape to an answer over HTTP.

use bytes::Bytes;
use http::{Request, Response, header};
use serde_json::{Value, json};
use workload_core::time::Timestamp;

use super::delete::Deleted;
use super::shape::Shape;
use super::status::Status;
use super::watch::Subscription;
use super::{ApiServer, update};

/// What a request comes to.
#[derive(Debug)]
pub enum Reply {
    /// A whole answer.
    Answer(Response<Bytes>),
    /// An open watch: 200 and a body whose frames [`ApiServer::events`] gives.
    Watch(Subscription),
}

impl From<Status> for Reply {
    fn from(status: Status) -> Self {
        let mut answer = answer(status.code, Bytes::from(status.body().to_string()));
        if let Some(seconds) = status.retry_after.filter(|seconds| *seconds > 0) {
            answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        Self::Answer(answer)
    }
}

fn answer(code: u16, body: Bytes) -> Response<Bytes> {
    let answer = Response::builder()
        .status(code)
        .header(header::CONTENT_TYPE, "application/json");
    answer.body(body).expect("a valid answer")
}

fn json_answer(code: u16, body: &Value) -> Response<Bytes> {
    answer(code, Bytes::from(body.to_string()))
}

impl ApiServer {
    pub(super) fn answer(&mut self, request: &Request<Bytes>, shape: Shape, now: Timestamp) -> Reply {
        self.script.expect(request);
        let reply = self.carry_out(shape, now);
        self.script.done();
        reply.unwrap_or_else(Reply::from)
    }

    fn carry_out(&mut self, shape: Shape, now: Timestamp) -> Result<Reply, Status> {
        let answer = match shape {
            Shape::Version => json_answer(200, &version()),
            Shape::Get(address) => {
                let entry = self.stored(&address)?;
                answer(200, entry.json(address.kind))
            }
            Shape::List { scope, limit, token } => answer(200, self.page(&scope, limit, token.as_deref())?),
            Shape::Watch { scope, from, lifetime } => {
                return Ok(Reply::Watch(self.subscribe(scope, from, Some(lifetime))));
            }
            Shape::Create {
                kind,
                namespace,
                object,
            } => answer(201, self.create_object(kind, &namespace, object, now)?.json(kind)),
            Shape::Patch {
                address,
                part,
                form,
                body,
            } => {
                let change = update::Change { part, form, body };
                answer(200, self.patch_object(&address, &change, now)?.json(address.kind))
            }
            Shape::Delete { address, options } => match self.delete_object(&address, &options, now)? {
                Deleted::Shown(entry) => answer(200, entry.json(address.kind)),
                Deleted::Told(entry) => json_answer(
                    200,
                    &json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                        "details": self.kinds.of(address.kind).details(entry.object.name(), entry.object.uid()),
                    }),
                ),
            },
            Shape::Evict { address, options } => {
                self.evict_pod(&address, &options, now)?;
                json_answer(
                    201,
                    &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
                )
            }
        };
        Ok(Reply::Answer(answer))
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "37", "gitVersion": "v1.37.0", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.26", "compiler": "gc", "platform": "linux/amd64",
    })
}
