//! Share error against throughput of every setting of a search, as SVG without scripts: it must be
//! readable with scripts disabled, and each point is labelled.

use std::fmt::Write;

use assay_escape::html;
use assay_intervention::{Measured, SettingResult, Tuning};
use assay_verdict::Verdict;
use minijinja::Value as Markup;

use crate::number;
use crate::wording;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 48.0;

/// Smaller errors are drawn at this value: the logarithmic axis has no zero.
const MIN_ERROR: f64 = 0.005;

/// A setting as a point.
struct Point<'t> {
    setting: &'t SettingResult,
    data: &'t Measured,
    /// Throughput relative to the unchanged study.
    rate: f64,
    error: f64,
}

/// The figure as SVG, or the reason why there is none.
pub(crate) fn frontier(tuning: &Tuning) -> Result<Markup, String> {
    let points = points(tuning);
    if points.len() < 2 {
        return Err("fewer than two settings have a usable number".to_owned());
    }
    let scale = Scale::new(tuning, &points);
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" class=\"frontier\" role=\"img\" \
         aria-labelledby=\"frontier-title frontier-text\">\
         <title id=\"frontier-title\">Share error against throughput</title>\
         <desc id=\"frontier-text\">{}</desc>",
        html(&describe(tuning, &points))
    );
    axes(&mut svg, &scale);
    margin(&mut svg, &scale, tuning.within);
    line(&mut svg, &scale, &points);
    for point in &points {
        mark(&mut svg, &scale, point, tuning.chosen.as_deref());
    }
    svg.push_str("</svg>");
    Ok(Markup::from_safe_string(svg))
}

fn points(tuning: &Tuning) -> Vec<Point<'_>> {
    let rate = |data: Option<&Measured>| data.and_then(|data| data.rate).filter(|rate| *rate > 0.0);
    let first = tuning.settings.first();
    // Each stage has its own unchanged setting, so that repeats of equal length are compared.
    let (searched, confirmed) = (
        rate(first.and_then(|one| one.search.as_ref())),
        rate(first.and_then(|one| one.confirmation.as_ref())),
    );
    let of = |setting| -> Option<Point<'_>> {
        let data = SettingResult::best_data(setting)?;
        let base = if setting.confirmation.is_some() { confirmed } else { searched };
        (data.verdict != Verdict::Void).then_some(())?;
        Some(Point {
            setting,
            data,
            rate: data.rate? / base.or(searched).or(confirmed)?,
            error: data.error?.value.max(MIN_ERROR),
        })
    };
    tuning.settings.iter().filter_map(of).collect()
}

/// Scales: throughput from zero, error logarithmic.
struct Scale {
    fastest: f64,
    low: f64,
    high: f64,
}

impl Scale {
    fn new(tuning: &Tuning, points: &[Point<'_>]) -> Self {
        let errors = points.iter().map(|point| point.error).chain([tuning.within]);
        let (low, high) = errors
            .fold((f64::INFINITY, 0.0_f64), |(low, high), error| (low.min(error), high.max(error)));
        let fastest = points.iter().map(|point| point.rate).fold(1.0, f64::max);
        Self { fastest: fastest * 1.08, low: (low / 1.6).max(MIN_ERROR / 1.2), high: high * 1.6 }
    }

    fn x(&self, rate: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (rate / self.fastest).clamp(0.0, 1.0)
    }

    fn y(&self, error: f64) -> f64 {
        let part = (error.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part.clamp(0.0, 1.0)
    }
}

fn axes(svg: &mut String, scale: &Scale) {
    let bottom = HEIGHT - BOTTOM;
    let right = WIDTH - RIGHT;
    for error in [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0] {
        if error < scale.low || error > scale.high {
            continue;
        }
        let y = scale.y(error);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" \
             stroke=\"currentColor\" opacity=\"0.15\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{} %</text>",
            LEFT - 6.0,
            y + 4.0,
            number::plain(error * 100.0)
        );
    }
    for step in 0..=8 {
        let rate = f64::from(step) * 0.25;
        if rate > scale.fastest {
            break;
        }
        let x = scale.x(rate);
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} %</text>",
            bottom + 18.0,
            number::plain(rate * 100.0)
        );
    }
    let _ = write!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\" \
         stroke=\"currentColor\" opacity=\"0.5\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">throughput relative to the unchanged \
         study</text><text transform=\"translate(14 {:.1}) rotate(-90)\" \
         text-anchor=\"middle\">largest share error</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 8.0,
        (TOP + bottom) / 2.0
    );
}

fn margin(svg: &mut String, scale: &Scale, within: f64) {
    let y = scale.y(within);
    let right = WIDTH - RIGHT;
    let _ = write!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#d8572a\" \
         stroke-dasharray=\"5 4\"/><text x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\" \
         fill=\"#d8572a\">margin</text>",
        y - 5.0
    );
}

/// The settings that are not dominated.
fn line(svg: &mut String, scale: &Scale, points: &[Point<'_>]) {
    let mut on: Vec<(f64, f64)> = points
        .iter()
        .filter(|point| point.setting.on_frontier)
        .map(|point| (scale.x(point.rate), scale.y(point.error)))
        .collect();
    on.sort_by(|one, other| one.0.total_cmp(&other.0));
    let corners: Vec<String> = on.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"currentColor\" opacity=\"0.4\"/>",
        corners.join(" ")
    );
}

fn mark(svg: &mut String, scale: &Scale, point: &Point<'_>, chosen: Option<&str>) {
    let (x, y) = (scale.x(point.rate), scale.y(point.error));
    let name = &point.setting.name;
    let colour = match point.data.verdict {
        Verdict::Kept => "#1f9e83",
        Verdict::Broken => "#d8572a",
        Verdict::Undecided | Verdict::Void => "#b8890b",
    };
    let fresh = point.setting.confirmation.is_some();
    let _ = write!(svg, "<g><title>{}</title>", html(&describe_point(point)));
    if let Some(error) = point.data.error.filter(|_| fresh) {
        let (low, high) = (scale.y(error.low.max(MIN_ERROR)), scale.y(error.high));
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" \
             stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }
    let fill = if fresh { colour } else { "none" };
    let _ = write!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\" stroke=\"{colour}\" \
         stroke-width=\"1.5\"/>"
    );
    if chosen == Some(name) {
        let _ = write!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>"
        );
    }
    if fresh || point.setting.on_frontier {
        let (anchor, dx) = if x > WIDTH * 0.7 { ("end", -11.0) } else { ("start", 11.0) };
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            x + dx,
            y - 7.0,
            html(name)
        );
    }
    svg.push_str("</g>");
}

/// Description of a point.
fn describe_point(point: &Point<'_>) -> String {
    let stage = match point.setting.confirmation {
        Some(_) => "fresh repeats",
        None => "the search alone",
    };
    let error = point.data.error.map_or_else(String::new, wording::error_interval);
    format!(
        "{}: error {error}, {} % of the throughput, {} by {stage}",
        point.setting.name,
        number::percent(point.rate, 0),
        wording::verdict(point.data.verdict)
    )
}

fn describe(tuning: &Tuning, points: &[Point<'_>]) -> String {
    let on: Vec<String> =
        points.iter().filter(|point| point.setting.on_frontier).map(describe_point).collect();
    format!("{} settings. On the frontier: {}. {}", points.len(), on.join("; "), tuning.sentence)
}
