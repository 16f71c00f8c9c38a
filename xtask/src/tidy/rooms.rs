//! Every crate says what it is, every controller has the same rooms, and every controller has a chart.

use super::Report;
use super::repository::Repository;

/// Files of every controller.
const CONTROLLER_FILES: [&str; 5] = ["README.md", "rbac.json", "src/main.rs", "src/lib.rs", "src/args.rs"];

/// What every workload of a controller consists of: a file or a folder each.
const ROOMS: [&str; 6] = ["spec", "observe", "decide", "conclude", "watches", "words"];

/// Charts that install no controller of their own.
const OTHER_CHARTS: [&str; 2] = ["lib", "workload-controllers"];

pub(super) fn check(repository: &Repository, report: &mut Report) {
    check_docs(repository, report);
    let controllers: Vec<&str> = repository
        .directories("crates")
        .into_iter()
        .filter(|name| name.ends_with("-controller"))
        .collect();
    for controller in &controllers {
        check_controller(repository, controller, report);
    }
    for chart in repository.directories("charts") {
        if !controllers.contains(&chart) && !OTHER_CHARTS.contains(&chart) {
            report.problem(&format!("charts/{chart}"), "there is no controller of this name");
        }
    }
}

fn check_docs(repository: &Repository, report: &mut Report) {
    for file in repository.rust() {
        let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
        if is_root && !file.text.starts_with("//!") {
            report.problem(&file.path, "does not begin with the crate's documentation");
        }
    }
}

fn check_controller(repository: &Repository, controller: &str, report: &mut Report) {
    let dir = format!("crates/{controller}");
    let mut wanted: Vec<Vec<String>> = CONTROLLER_FILES
        .iter()
        .map(|file| vec![format!("{dir}/{file}")])
        .collect();
    wanted.push(vec![format!("charts/{controller}/Chart.yaml")]);
    let src = format!("{dir}/src");
    let mut workloads: Vec<String> = repository
        .directories(&src)
        .into_iter()
        .filter(|folder| !ROOMS.contains(folder) && has_a_room(repository, &format!("{src}/{folder}")))
        .map(|folder| format!("{src}/{folder}"))
        .collect();
    if workloads.is_empty() {
        workloads.push(src);
    }
    for workload in workloads {
        wanted.extend(
            ROOMS
                .iter()
                .map(|room| vec![format!("{workload}/{room}.rs"), format!("{workload}/{room}/mod.rs")]),
        );
    }
    for choices in wanted {
        if !choices.iter().any(|path| repository.file(path).is_some()) {
            report.problem(&dir, format!("there is no {}", choices.join(" or ")));
        }
    }
}

fn has_a_room(repository: &Repository, folder: &str) -> bool {
    ["observe", "decide", "conclude"].iter().any(|room| {
        [format!("{folder}/{room}.rs"), format!("{folder}/{room}/mod.rs")]
            .iter()
            .any(|path| repository.file(path).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Vec<(String, &'static str)> {
        let mut files: Vec<(String, &'static str)> = CONTROLLER_FILES
            .iter()
            .map(|file| (format!("crates/a-controller/{file}"), "//! A."))
            .collect();
        files.push(("charts/a-controller/Chart.yaml".to_owned(), ""));
        files.extend(
            ROOMS
                .iter()
                .map(|room| (format!("crates/a-controller/src/thing/{room}.rs"), "")),
        );
        files
    }

    fn problems(files: &[(String, &str)]) -> Vec<String> {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        crate::tidy::problems(check, &files)
    }

    #[test]
    fn a_complete_controller_is_fine() {
        assert_eq!(problems(&complete()), [""; 0]);
    }

    #[test]
    fn any_missing_piece_is_named() {
        for missing in 0..complete().len() {
            let mut files = complete();
            let (path, _) = files.remove(missing);
            let found = problems(&files);
            assert!(found.iter().any(|problem| problem.contains(&path)), "{path}: {found:?}");
        }
    }

    #[test]
    fn a_room_may_be_a_folder_and_a_workload_may_be_the_whole_crate() {
        let mut files = complete();
        for (path, _) in &mut files {
            *path = path
                .replace("thing/decide.rs", "thing/decide/mod.rs")
                .replace("/thing/", "/");
        }
        assert_eq!(problems(&files), [""; 0]);
    }

    #[test]
    fn a_chart_without_a_controller_is_a_problem() {
        let mut files = complete();
        files.push(("charts/lib/Chart.yaml".to_owned(), ""));
        assert_eq!(problems(&files), [""; 0]);
        files.push(("charts/b-controller/Chart.yaml".to_owned(), ""));
        assert_eq!(problems(&files).len(), 1);
    }

    #[test]
    fn a_crate_begins_with_its_documentation() {
        assert_eq!(problems(&[("xtask/src/main.rs".to_owned(), "fn main() {}")]).len(), 1);
    }
}
