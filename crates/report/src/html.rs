//! A page as one HTML document that loads nothing. Every text is escaped here.

mod code;

use assay_sys::escape::html as escaped;
use assay_sys::escape::json_in_html;
use assay_sys::escape::page::{
    Cell, Column, Figure, Page, Part, Parts, Section, Table, Tag, Verdict,
};

use crate::wording::capitalised;
use code::TEXT;
pub(crate) use code::{Code, FIGURES};

/// A page without figures as one HTML document that loads nothing and runs nothing.
#[must_use]
pub fn page(page: &Page) -> String {
    document(page, &TEXT)
}

/// The whole document of a page.
pub(crate) fn document(page: &Page, code: &Code) -> String {
    let kicker = page.kicker.iter().map(|text| escaped(text)).collect::<Vec<_>>();
    let mut html = head(&page.title, code);
    html += "<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header class=\"top\">\n";
    html += &format!(
        "<p class=\"kicker\">{}</p>\n",
        kicker.join(" <span aria-hidden=\"true\">\u{b7}</span> ")
    );
    html += &format!("<h1>{}</h1>\n", escaped(&page.heading));
    if let Some(question) = &page.question {
        html += &format!("<p class=\"question\">{}</p>\n", escaped(question));
    }
    html.extend(page.verdict.as_ref().map(answer));
    html += &format!("{}</header>\n<nav aria-label=\"Contents\">\n", parts(&page.head));
    html.extend(page.sections.iter().map(link));
    html += "</nav>\n<main id=\"content\">\n";
    if code.draws() {
        html += "<noscript><p class=\"note warning\">Figures need JavaScript, which is embedded in this page. All \
                 numbers are also in the tables.</p></noscript>\n";
    }
    html.extend(page.sections.iter().map(section));
    html + &format!("{}</main>\n{}</body>\n</html>\n", code.licences(), code.scripts())
}

/// The verdict, with what explains it and its picture.
fn answer(Verdict { tag: Tag { tone, mark, word }, meaning, more, picture }: &Verdict) -> String {
    format!(
        "<div class=\"answer{}\">\n<div class=\"verdict {}\">\n<p class=\"big\"><span class=\"mark\" \
         aria-hidden=\"true\">{mark}</span> {}</p>\n<p class=\"meaning\">{}</p>\n{}</div>\n{}</div>\n",
        if picture.is_some() { " pictured" } else { "" },
        tone.class(),
        escaped(word),
        prose(meaning),
        parts(more),
        picture.as_ref().map_or_else(String::new, figure)
    )
}

/// Everything before the body.
fn head(title: &str, code: &Code) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>{}</style>\n</head>\n",
        code.policy(),
        escaped(title),
        code.style
    )
}

/// An entry of the contents.
fn link(section: &Section) -> String {
    let Some(name) = &section.listed else { return String::new() };
    let dot = section.tag.as_ref().map_or_else(String::new, |tag| {
        format!("<span class=\"dot {}\" aria-hidden=\"true\"></span>", tag.tone.class())
    });
    format!("<a href=\"#{}\">{dot}{}</a>\n", escaped(&section.id), escaped(name))
}

fn section(section: &Section) -> String {
    let Section { id, heading, tag, folded, parts: of_section, .. } = section;
    let (id, tag) =
        (escaped(id), tag.as_ref().map_or_else(String::new, |tag| format!(" {}", pill(tag))));
    let (heading, inside) = (escaped(heading), parts(of_section));
    match folded {
        // A link to what lies in a closed element opens it.
        Some(line) => format!(
            "<section class=\"folded\">\n<details><summary><h2>{heading}{tag}</h2> {}</summary>\n<div \
             id=\"{id}\">\n{inside}</div></details></section>\n",
            prose(line)
        ),
        None => format!(
            "<section id=\"{id}\">\n<h2><a href=\"#{id}\">{heading}</a>{tag}</h2>\n{inside}</section>\n"
        ),
    }
}

/// A verdict in its colour.
fn pill(Tag { tone, mark, word }: &Tag) -> String {
    format!(
        "<span class=\"pill {}\"><span aria-hidden=\"true\">{mark}</span> {}</span>",
        tone.class(),
        escaped(word)
    )
}

fn parts(parts: &Parts) -> String {
    parts.0.iter().map(part).collect()
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { class, text, tag } => {
            let class =
                if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let tag = tag.as_ref().map_or_else(String::new, |tag| format!(" {}", pill(tag)));
            format!("<p{class}>{}{tag}</p>\n", prose(text))
        }
        Part::List(items) => {
            let items: String =
                items.iter().map(|item| format!("<li>{}</li>\n", prose(item))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Part::Facts(facts) => {
            let row = |(name, value): &(String, String)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), prose(value))
            };
            format!("<dl class=\"facts\">\n{}</dl>\n", facts.iter().map(row).collect::<String>())
        }
        Part::Table(one) => table(one),
        Part::Figures(all) => figures(all),
        Part::Code(text) => format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(text)),
        Part::Heading(id, text) if id.is_empty() => format!("<h3>{}</h3>\n", prose(text)),
        Part::Heading(id, text) => {
            let id = escaped(id);
            format!("<h3 id=\"{id}\"><a href=\"#{id}\">{}</a></h3>\n", escaped(text))
        }
        Part::Fold(summary, open, inside) => format!(
            "<details{}><summary>{}</summary>\n{}</details>\n",
            if *open { " open" } else { "" },
            prose(summary),
            parts(inside)
        ),
        Part::OnPage(inside) => parts(inside),
        Part::OnTerminal(_) => String::new(),
        Part::Box(tone, inside) => {
            format!("<div class=\"promise {}\">\n{}</div>\n", tone.class(), parts(inside))
        }
    }
}

/// Figures side by side; those that cannot be drawn are only named.
fn figures(all: &[Figure]) -> String {
    let drawn: String = all.iter().filter(|one| one.spec.is_ok()).map(figure).collect();
    let reason = |one: &Figure| Some(format!("{} ({})", one.title, one.spec.as_ref().err()?));
    let missing: Vec<String> = all.iter().filter_map(reason).collect();
    let mut html = String::new();
    if !drawn.is_empty() {
        html += &format!("<div class=\"figures\">\n{drawn}</div>\n");
    }
    if !missing.is_empty() {
        html += &format!("<p class=\"aside\">Not drawn: {}.</p>\n", prose(&missing.join("; ")));
    }
    html
}

fn class(column: &Column, cell: &Cell) -> &'static str {
    match (column.is_number, column.is_prose, cell) {
        (true, ..) => " class=\"n\"",
        (_, true, _) => " class=\"prose\"",
        (.., Cell::Word(_)) => " class=\"said\"",
        _ => "",
    }
}

fn heading(column: &Column) -> String {
    let unit = if column.unit.is_empty() { String::new() } else { format!(", {}", column.unit) };
    let heading = match column.is_name {
        true => column.heading.clone(),
        false => capitalised(&column.heading),
    };
    format!("{heading}{unit}").trim_start_matches(", ").to_owned()
}

pub(crate) fn table(table: &Table) -> String {
    let caption =
        table.caption.as_deref().map(|text| format!("<caption>{}</caption>\n", prose(text)));
    // Where columns would not fit, each row becomes a card.
    let cards = if table.columns.len() > 2 { " class=\"cards\"" } else { "" };
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\"><table{cards}>\n{}<thead><tr>",
        caption.unwrap_or_default()
    );
    let headings: Vec<String> = table.columns.iter().map(heading).collect();
    for (column, heading) in table.columns.iter().zip(&headings) {
        let class = if column.is_number { " class=\"n\"" } else { "" };
        html += &format!("<th{class}>{}</th>", prose(heading));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in 0..table.rows {
        html += "<tr>";
        for (at, column) in table.columns.iter().enumerate() {
            let value = &column.cells[row];
            let (name, scope) = match (at, cards.is_empty()) {
                (0, _) => ("th", " scope=\"row\"".to_owned()),
                (_, true) => ("td", String::new()),
                (_, false) => {
                    ("td", format!(" data-name=\"{}\"", escaped(&headings[at].replace('`', ""))))
                }
            };
            html += &format!("<{name}{scope}{}>{}</{name}>", class(column, value), cell(value));
        }
        html += "</tr>\n";
        if let Some(why) = table.missing.get(row).and_then(Option::as_deref) {
            let span = table.columns.len();
            html +=
                &format!("<tr><td colspan=\"{span}\">not available: {}</td></tr>\n", prose(why));
        }
    }
    html + "</tbody>\n</table></div>\n"
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => prose(text),
        Cell::Word(tag) => {
            format!("<span class=\"word {}\">{}</span>", tag.tone.class(), prose(&tag.marked()))
        }
        Cell::Links(links) => {
            let link = |(name, to): &(String, String)| {
                format!("<a href=\"{}\">{}</a>", escaped(to), escaped(name))
            };
            links.iter().map(link).collect::<Vec<_>>().join(" ")
        }
    }
}

fn figure(figure: &Figure) -> String {
    let Figure { title, reading, wide, spec, greyed, .. } = figure;
    let id = escaped(&figure.id);
    let Ok(spec) = spec else { return String::new() };
    let inside = format!(
        "<div class=\"chart\" role=\"group\" aria-labelledby=\"{id}-title\" aria-describedby=\"{id}-reading\" \
             data-spec=\"{id}-spec\"></div>\n<figcaption id=\"{id}-reading\">{}</figcaption>\n\
             <script type=\"application/json\" id=\"{id}-spec\">{}</script>\n",
        escaped(reading),
        json_in_html(spec)
    );
    format!(
        "<figure id=\"{id}\" class=\"{}{}\">\n<h3 class=\"figure\" id=\"{id}-title\"><a href=\"#{id}\">{}</a>{}</h3>\n{inside}</figure>\n",
        if *wide { "wide" } else { "half" },
        if *greyed { " greyed" } else { "" },
        escaped(title),
        if *greyed {
            " <span class=\"pill void\">\u{2205} void, proves nothing</span>"
        } else {
            ""
        },
    )
}

/// An escaped text: what stands between backticks is code, newlines begin new lines, and percent signs stay with
/// their numbers.
pub(crate) fn prose(text: &str) -> String {
    let text = text.replace(" %", "\u{a0}%");
    let mut markup = String::with_capacity(text.len() + 16);
    let mut parts = text.split('`').peekable();
    let mut is_code = false;
    while let Some(part) = parts.next() {
        let part = escaped(part).replace('\n', "<br>");
        // An unpaired backtick is literal.
        markup += &match (is_code, parts.peek()) {
            (true, Some(_)) => format!("<code>{part}</code>"),
            (true, None) => format!("`{part}"),
            (false, _) => part,
        };
        is_code = !is_code;
    }
    markup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_backticks_becomes_code_and_all_text_is_escaped() {
        assert_eq!(prose("`nr_requests` is <b>"), "<code>nr_requests</code> is &lt;b&gt;");
        assert_eq!(prose("no code & no end: `"), "no code &amp; no end: `");
        assert_eq!(prose("1 %"), "1\u{a0}%");
    }

    #[test]
    fn every_part_of_a_page_is_escaped() {
        use assay_sys::escape::page::{Rows, Tone};
        const EVIL: &str = "</script><b>\"'";
        let tag = || Tag::new(Tone::Bad, "", EVIL);
        let fill = |page: &mut Parts| {
            page.tagged("", EVIL, Some(tag()));
            page.list([EVIL.to_owned()]);
            page.facts([(EVIL, EVIL.to_owned())]);
            let links = |_: &()| Cell::Links(vec![(EVIL.to_owned(), EVIL.to_owned())]);
            let rows = Rows::new(&[()]).left(EVIL, 0, |()| EVIL).left((EVIL, EVIL), 0, |()| tag());
            page.table(rows.left("", 0, links).missing(|()| Some(EVIL.to_owned())).caption(EVIL));
            page.code(EVIL);
            page.heading(EVIL, EVIL);
            let [id, title, reading] = [EVIL; 3].map(str::to_owned);
            let spec = Ok(format!("{{\"a\":\"{EVIL}\"}}"));
            page.figures(vec![Figure { id, title, reading, wide: true, greyed: false, spec }]);
        };
        let section = Section::new(EVIL, EVIL, |page| {
            fill(page);
            page.fold(EVIL, true, fill);
        });
        let page = Page {
            title: EVIL.to_owned(),
            kicker: vec![EVIL.to_owned()],
            heading: EVIL.to_owned(),
            question: Some(EVIL.to_owned()),
            sections: vec![section.tagged(tag())],
            ..Page::default()
        };
        let html = super::page(&page);
        assert!(!html.contains("<b>") && !html.contains("</script><b"), "{html}");
        assert!(html.contains("&lt;/script&gt;&lt;b&gt;&quot;&#39;"), "{html}");
    }
}
