// Draws figures near the viewport first and the others one by one in between, so that a run of many
// trials opens at once and is complete soon after, also when it is printed without being scrolled.
// The page works without this script: every number is also in a table.
(function () {
  "use strict";
  var dark = window.matchMedia("(prefers-color-scheme: dark)");

  // The same colours on paper and on a dark screen, with a contrast of 3:1 or more to both (WCAG 1.4.11). Weights are
  // ordered by lightness, so that their order survives grey printing and any kind of colour vision.
  var WEIGHTS = ["#2a9d78", "#1f8fae", "#4b74d6", "#8a50cf"];
  // After Okabe and Ito, without what is too light.
  var NAMES = ["#0072b2", "#b87f00", "#009e73", "#8a8f98", "#c8699c", "#d55e00", "#8a63d2"];

  function channel(colour, at) {
    return parseInt(colour.slice(1 + 2 * at, 3 + 2 * at), 16);
  }

  function steps(stops, count) {
    var colours = [];
    for (var i = 0; i < count; i++) {
      var at = count === 1 ? 1.7 : (i / (count - 1)) * (stops.length - 1);
      var low = Math.min(Math.floor(at), stops.length - 2);
      var part = at - low;
      var mixed = [0, 1, 2].map(function (c) {
        return Math.round(channel(stops[low], c) * (1 - part) + channel(stops[low + 1], c) * part);
      });
      colours.push("rgb(" + mixed.join(",") + ")");
    }
    return colours;
  }

  function look(count) {
    var ink = dark.matches ? "#e4e7eb" : "#1c2127";
    var paper = dark.matches ? "#14171b" : "#ffffff";
    var soft = dark.matches ? "#9aa5b1" : "#5b6570";
    var line = dark.matches ? "#2e343c" : "#e6e8eb";
    var font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent",
      font: font,
      view: { stroke: null },
      range: { ordinal: steps(WEIGHTS, count), category: NAMES },
      axis: {
        labelColor: soft, titleColor: soft, gridColor: line, domainColor: soft, tickColor: soft,
        labelFontSize: 11.5, titleFontSize: 11.5, titleFontWeight: 500, titlePadding: 8, domain: false, ticks: false, labelPadding: 6
      },
      axisX: { domain: true, domainColor: line },
      legend: { labelColor: soft, titleColor: soft, labelFontSize: 11.5, titleFontSize: 11.5, titleFontWeight: 500, offset: 6 },
      bar: { cornerRadiusEnd: 1 },
      style: {
        promise: { color: ink, fill: ink, stroke: paper, strokeWidth: 1 },
        interval: { color: ink, fill: ink, stroke: ink },
        error: { fill: soft, color: soft }
      }
    };
  }

  // Figures over time show the same span of seconds, chosen once for all figures of a trial: by
  // dragging over any of them, by numbers, or by the URL of the page. Specs in the page are
  // self-contained and unchanged; the linking is added here.
  var TIME = "seconds after the start";
  var HASH = /^#(.+)@([0-9.]+)-([0-9.]+)$/;

  function parts(spec) {
    return (spec.layer || []).reduce(function (all, layer) { return all.concat(parts(layer)); }, [spec]);
  }

  function overTime(part) {
    return part.encoding && part.encoding.x && part.encoding.x.title === TIME;
  }

  function shareTime(spec) {
    var lines = parts(spec).filter(overTime);
    if (!lines.length) { return false; }
    parts(spec).forEach(function (part) {
      // Names at the ends of curves stand beside the plot.
      var beside = part.encoding && part.encoding.x && part.encoding.x.value;
      if (typeof part.mark === "object" && !beside) { part.mark.clip = true; }
    });
    lines.forEach(function (part) {
      var ends = { domainMin: { expr: "from_s" }, domainMax: { expr: "to_s" } };
      part.encoding.x.scale = Object.assign({}, part.encoding.x.scale, ends);
    });
    spec.params = (spec.params || []).concat({ name: "from_s", value: null }, { name: "to_s", value: null });
    var drag = { name: "drag", select: { type: "interval", encodings: ["x"] } };
    lines[0].params = (lines[0].params || []).concat(drag);
    return true;
  }

  function scopeOf(place) { return place.closest("section"); }

  function show(place) {
    var span = scopeOf(place).span;
    if (!place.view || !place.dataset.time) { return; }
    var view = place.view.view;
    view.signal("from_s", span ? span[0] : null).signal("to_s", span ? span[1] : null).runAsync();
  }

  // `span` is two numbers, or null for the whole run.
  function choose(scope, span) {
    scope.span = span;
    places.filter(function (place) { return scopeOf(place) === scope; }).forEach(show);
    var controls = scope.querySelector("form.span");
    if (controls) {
      controls.elements[0].value = span ? +span[0].toFixed(2) : "";
      controls.elements[1].value = span ? +span[1].toFixed(2) : "";
    }
    if (scope.id && (span || HASH.test(location.hash))) {
      var hash = span ? "#" + scope.id + "@" + +span[0].toFixed(2) + "-" + +span[1].toFixed(2) : "#" + scope.id;
      history.replaceState(null, "", hash);
    }
  }

  function addControls(place) {
    var scope = scopeOf(place);
    if (scope.querySelector("form.span")) { return; }
    var form = document.createElement("form");
    form.className = "span";
    form.innerHTML = '<label>Seconds shown: from <input type="number" min="0" step="any" placeholder="start"></label> ' +
      '<label>to <input type="number" min="0" step="any" placeholder="end"></label> ' +
      '<button type="button">whole run</button> <span>or drag over a figure</span>';
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    form.addEventListener("change", function () {
      var from = parseFloat(form.elements[0].value || "0"), to = parseFloat(form.elements[1].value);
      if (to > from) { choose(scope, [from, to]); }
    });
    form.elements[2].addEventListener("click", function () { choose(scope, null); });
    place.closest(".figures").before(form);
  }

  function letDrag(place) {
    var view = place.view.view;
    place.addEventListener("pointerup", function () {
      setTimeout(function () {
        var dragged = view.signal("drag"), field = dragged && Object.keys(dragged)[0];
        var span = field && dragged[field];
        if (!span || !(span[1] > span[0])) { return; }
        view.signal("drag_x", [0, 0]).data("drag_store", []);
        choose(scopeOf(place), span);
      }, 0);
    });
    place.addEventListener("dblclick", function () { choose(scopeOf(place), null); });
  }

  // A CSV reader by RFC 4180. Vega's own reader makes a function of the header's text, which the policy of
  // the page forbids.
  function records(text) {
    var all = [], record = [], found;
    var cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/y;
    while (cell.lastIndex < text.length && (found = cell.exec(text))) {
      record.push(found[1].charAt(0) === '"' ? found[1].slice(1, -1).replace(/""/g, '"') : found[1]);
      if (found[2] !== ",") { all.push(record); record = []; }
    }
    return all;
  }

  function rows(text) {
    var all = records(text), names = all.shift() || [];
    return all.map(function (record) {
      var row = {};
      names.forEach(function (name, at) { row[name] = record[at] || ""; });
      return row;
    });
  }

  // vega-embed's own entry would write the spec into a window as markup.
  function offerSpec(place) {
    var entry = document.createElement("a");
    entry.textContent = "Save as Vega-Lite";
    entry.download = place.dataset.spec.replace(/-spec$/, "") + ".vl.json";
    entry.href = "#";
    entry.addEventListener("click", function () {
      var spec = new Blob([document.getElementById(place.dataset.spec).textContent], { type: "application/json" });
      entry.href = URL.createObjectURL(spec);
    });
    place.querySelector(".vega-actions").append(entry);
  }

  function draw(place) {
    if (place.dataset.drawn) { return place.drawing; }
    place.dataset.drawn = "yes";
    var spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    var timed = shareTime(spec);
    var weights = spec.usermeta && spec.usermeta.weights || 1;
    place.drawing = window.vegaEmbed(place, spec, {
      mode: "vega-lite",
      renderer: "svg",
      config: look(weights),
      // Expressions are interpreted, and all styles are in the page: its policy allows no others.
      ast: true,
      defaultStyle: false,
      forceActionsMenu: true,
      tooltip: { disableDefaultStyle: true },
      downloadFileName: place.dataset.spec.replace(/-spec$/, ""),
      actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false }
    }).then(function (result) {
      place.view = result;
      // What is dragged over a chart has no name.
      place.querySelectorAll(".drag_brush, .drag_brush_bg").forEach(function (brush) { brush.setAttribute("aria-hidden", "true"); });
      offerSpec(place);
      if (!timed) { return; }
      place.dataset.time = "yes";
      addControls(place);
      letDrag(place);
      if (scopeOf(place).span) { choose(scopeOf(place), scopeOf(place).span); }
    }, function (error) {
      place.textContent = "This figure could not be drawn: " + error.message;
    });
    return place.drawing;
  }

  // Scrollable elements must be reachable by keyboard; not every browser does that by itself.
  document.querySelectorAll(".scroll").forEach(function (one) {
    if (one.scrollWidth > one.clientWidth) { one.tabIndex = 0; }
  });

  var places = Array.prototype.slice.call(document.querySelectorAll(".chart"));

  function follow() {
    var asked = HASH.exec(location.hash), scope = asked && document.getElementById(asked[1]);
    if (!scope || !(+asked[3] > +asked[2])) { return; }
    choose(scope, [+asked[2], +asked[3]]);
    scope.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  follow();

  if (window.vega) { window.vega.formats("csv", rows); }

  var CLOSED = "details:not([open])";

  function drawAll() { places.forEach(draw); }

  // One figure at a time, and the screen is painted in between: the first is visible while the
  // others are still being drawn. A background tab paints nothing and continues by timer.
  function afterPainting(then) {
    var gone = false;
    function go() { if (!gone) { gone = true; setTimeout(then, 0); } }
    requestAnimationFrame(go);
    setTimeout(go, 100);
  }

  function drawNext() {
    var left = places.filter(function (place) { return !place.dataset.drawn && !place.closest(CLOSED); });
    var next = left.find(function (place) { return place.dataset.near; }) || left[0];
    if (next) { draw(next).then(function () { afterPainting(drawNext); }); }
  }

  // What is opened has a width, which a figure needs.
  document.addEventListener("toggle", function (event) { if (event.target.open) { drawNext(); } }, true);

  var started = false;
  function start() { if (!started) { started = true; drawNext(); } }

  // Nearness is known once the page is laid out; a background tab is not.
  if ("IntersectionObserver" in window) {
    var near = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.isIntersecting) { near.unobserve(entry.target); entry.target.dataset.near = "yes"; }
      });
      start();
    }, { rootMargin: "300px 0px" });
    places.forEach(function (place) { near.observe(place); });
  }
  setTimeout(start, 50);

  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
    drawAll();
  });

  dark.addEventListener("change", function () {
    places.filter(function (place) { return place.dataset.drawn; }).forEach(function (place) {
      if (place.view) { place.view.finalize(); }
      delete place.dataset.drawn;
      draw(place);
    });
  });
})();
