//! What a cluster shall consist of.

/// A cluster that somebody wants.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClusterSpec {
    /// Its name: lower-case letters, digits and `-`.
    #[arg(long, default_value = "dev", value_parser = checked_name)]
    pub(crate) name: String,
    /// Number of simulated nodes; they report every pod as running at once, and those of Jobs as ended, but run nothing.
    #[arg(long, default_value_t = 0)]
    pub(crate) nodes: u32,
    /// Controllers that kube-controller-manager shall not run, such as `deployment,replicaset`.
    #[arg(long, value_delimiter = ',', value_name = "CONTROLLERS")]
    pub(crate) kcm_without: Vec<String>,
    /// Run kube-scheduler even without nodes of our own.
    #[arg(long)]
    pub(crate) scheduler: bool,
    /// Requests per second that kube-controller-manager may send; bursts are as large.
    #[arg(long, default_value_t = KCM_QPS, value_name = "QPS")]
    pub(crate) kcm_qps: u32,
}

/// Requests per second that keep kube-controller-manager from being the slowest part of a test.
const KCM_QPS: u32 = 1000;

impl Default for ClusterSpec {
    fn default() -> Self {
        Self {
            name: "dev".to_owned(),
            nodes: 0,
            kcm_without: Vec::new(),
            scheduler: false,
            kcm_qps: KCM_QPS,
        }
    }
}

impl ClusterSpec {
    pub(super) fn needs_scheduler(&self) -> bool {
        self.scheduler || self.nodes > 0
    }
}

/// The value of kube-controller-manager's `--controllers` that leaves these out.
pub(crate) fn all_but(controllers: &[String]) -> String {
    let mut list = "*".to_owned();
    for name in controllers
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
    {
        let suffix = if name.ends_with("-controller") {
            ""
        } else {
            "-controller"
        };
        list.extend([",-", name, suffix]);
    }
    list
}

fn checked_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty() && name.len() <= 40 && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err("a name is 1 to 40 lower-case letters, digits and '-'".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(controllers: &[&str]) -> ClusterSpec {
        ClusterSpec {
            kcm_without: controllers.iter().map(|name| (*name).to_owned()).collect(),
            ..ClusterSpec::default()
        }
    }

    #[test]
    fn controllers_to_leave_out_may_be_named_in_short() {
        let list = |names: &[&str]| all_but(&without(names).kcm_without);
        assert_eq!(list(&[]), "*");
        assert_eq!(list(&[""]), "*");
        let expected = "*,-deployment-controller,-replicaset-controller,-ttl-after-finished-controller";
        assert_eq!(
            list(&["deployment", "replicaset-controller", " ttl-after-finished"]),
            expected
        );
    }

    #[test]
    fn nodes_bring_a_scheduler_along() {
        assert!(!without(&[]).needs_scheduler());
        assert!(
            ClusterSpec {
                nodes: 1,
                ..without(&[])
            }
            .needs_scheduler()
        );
        assert!(
            ClusterSpec {
                scheduler: true,
                ..without(&[])
            }
            .needs_scheduler()
        );
    }

    #[test]
    fn a_name_cannot_leave_the_clusters_directory() {
        for bad in ["", "..", "a/b", "A", "a b"] {
            checked_name(bad).unwrap_err();
        }
        checked_name("test-ours-42").unwrap();
    }
}
