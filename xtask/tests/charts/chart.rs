//! The charts of the repository and what they render to.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::helm::{Answer, Helm};

/// The chart of one controller.
pub(crate) struct Chart {
    pub(crate) folder: PathBuf,
}

/// The values that bring out one shape of a chart, as `--set-json` takes them.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [&'static str],
}

/// Shapes that between them render every line of the library chart.
pub(crate) const CASES: [Case; 5] = [
    Case {
        name: "defaults",
        values: &[],
    },
    Case {
        name: "rights-only",
        values: &[r#"workload="None""#],
    },
    Case {
        name: "everything-on",
        values: EVERYTHING_ON,
    },
    Case {
        name: "deployment",
        values: &[
            r#"workload="Deployment""#,
            r#"args.controllers=["deployment"]"#,
            r#"antiAffinity="Required""#,
            r#"fullnameOverride="rollouts""#,
        ],
    },
    Case {
        name: "static-pod",
        values: &[
            r#"workload="StaticPod""#,
            r#"rbac.users=["workload-controllers:deployment"]"#,
            "admin.port=18080",
            "runAs.group=null",
        ],
    },
];

/// Shapes of the chart of the job-controller that no other chart has.
pub(crate) const JOB_CASES: [Case; 4] = [
    Case {
        name: "job-defaults",
        values: &[],
    },
    Case {
        name: "job-rights-only",
        values: &[r#"workload="None""#],
    },
    Case {
        name: "job-static-pod",
        values: &[r#"workload="StaticPod""#],
    },
    Case {
        name: "job-managed-by",
        values: &[r#"args.managedBy="example.com/jobs""#, r#"workload="Deployment""#],
    },
];

/// Every optional object and setting at once, on the form of workload that can have them all.
const EVERYTHING_ON: &[&str] = &[
    r#"workload="Deployment""#,
    "replicas=3",
    r#"image={"repository":"registry.example/dc","digest":"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","pullPolicy":"Always"}"#,
    r#"imagePullSecrets=[{"name":"registry"}]"#,
    r#"args={"controllers":["deployment"],"workers":50,"maxInflightWrites":200,"qps":1000000,"burst":2000000,"fieldManager":"kube-controller-manager","logLevel":"info,workload_core=debug","logFormat":"text","leaseNamespace":"leases"}"#,
    r#"serviceAccount={"name":"rollouts","annotations":{"example.com/owner":"platform"}}"#,
    "hostNetwork=true",
    r#"admin={"host":"[::]","port":18080}"#,
    r#"resources.limits={"cpu":2,"memory":"2Gi"}"#,
    r#"service={"enabled":true,"annotations":{"example.com/scrape":"true"}}"#,
    r#"serviceMonitor={"enabled":true,"interval":"1m","labels":{"release":"prometheus"}}"#,
    r#"networkPolicy={"enabled":true,"from":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]}"#,
    r#"podLabels={"team":"platform","app.kubernetes.io/name":"not-taken"}"#,
    r#"podAnnotations={"example.com/note":"kept"}"#,
];

impl Chart {
    /// The charts of all controllers, which is every chart but the library.
    pub(crate) fn all() -> Vec<Self> {
        let mut folders: Vec<PathBuf> = fs::read_dir(folder())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        folders.retain(|folder| folder.join("Chart.yaml").is_file() && !folder.ends_with("lib"));
        folders.sort();
        assert!(!folders.is_empty(), "no chart found");
        folders.into_iter().map(|folder| Self { folder }).collect()
    }

    /// The chart of the deployment-controller.
    pub(crate) fn deployment_controller() -> Self {
        Self {
            folder: folder().join("deployment-controller"),
        }
    }

    /// The chart of the job-controller.
    pub(crate) fn job_controller() -> Self {
        Self {
            folder: folder().join("job-controller"),
        }
    }

    /// The shapes to render it in.
    pub(crate) fn cases(&self) -> &'static [Case] {
        match self.name() {
            "job-controller" => &JOB_CASES,
            _ => &CASES,
        }
    }

    /// Name of the chart.
    pub(crate) fn name(&self) -> &str {
        self.folder.file_name().unwrap().to_str().unwrap()
    }

    /// Text of one of its files.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    /// One of its files, parsed.
    pub(crate) fn parse(&self, file: &str) -> Value {
        serde_saphyr::from_str(&self.read(file)).unwrap()
    }

    /// `helm template` as release `demo` in kube-system with these values.
    pub(crate) fn render(&self, helm: &Helm, values: &[&str]) -> Answer {
        render(helm, &self.folder, values)
    }

    /// The objects that it renders to.
    pub(crate) fn objects(&self, helm: &Helm, values: &[&str]) -> Vec<Value> {
        objects(&self.render(helm, values).unwrap())
    }
}

/// `helm template` of a chart's folder or package as release `demo` in kube-system with these values.
pub(crate) fn render(helm: &Helm, chart: &Path, values: &[&str]) -> Answer {
    let mut args = vec![
        "template",
        "demo",
        chart.to_str().unwrap(),
        "--namespace",
        "kube-system",
    ];
    args.extend(values.iter().flat_map(|value| ["--set-json", value]));
    helm.run(args)
}

/// The objects of a rendered stream of documents.
pub(crate) fn objects(stream: &str) -> Vec<Value> {
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(stream).unwrap();
    objects.retain(|object| !object.is_null());
    objects
}

/// The only object of a kind.
pub(crate) fn only<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let mut found = objects.iter().filter(|object| object["kind"] == kind);
    let first = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "more than one {kind}");
    first
}

/// The folder of all charts.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../charts")
        .canonicalize()
        .unwrap()
}
