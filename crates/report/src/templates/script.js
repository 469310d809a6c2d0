// Draws figures near the screen first and the others one by one in between, so that a run of many
// trials opens at once and is complete soon after, also when it is printed without being scrolled.
// The page works without this script: every number also stands in a table.
(function () {
  "use strict";
  var dark = window.matchMedia("(prefers-color-scheme: dark)");

  // Ordered by lightness, so that the order of weights survives grey printing and any kind of
  // colour vision: heavier is darker on paper and brighter on a dark screen.
  var LIGHT = ["#a9d8cb", "#5fb0bd", "#3d83b6", "#4450a0"];
  var DARK = ["#3d6f9e", "#3fa3a5", "#8ed08a", "#f2e58b"];
  // Okabe and Ito's palette without its black and its yellow.
  var NAMES = ["#0072b2", "#e69f00", "#009e73", "#8a8f98", "#cc79a7", "#d55e00", "#56b4e9"];

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
      range: { ordinal: steps(dark.matches ? DARK : LIGHT, count), category: NAMES },
      axis: {
        labelColor: soft, titleColor: soft, gridColor: line, domainColor: soft, tickColor: soft,
        labelFontSize: 11.5, titleFontSize: 11.5, titleFontWeight: 500, titlePadding: 8, domain: false, ticks: false, labelPadding: 6
      },
      axisX: { domain: true, domainColor: line },
      legend: { labelColor: soft, titleColor: soft, labelFontSize: 11.5, titleFontSize: 11.5, titleFontWeight: 500, offset: 6 },
      bar: { cornerRadiusEnd: 1 },
      style: {
        promise: { color: ink, fill: ink, stroke: paper, strokeWidth: 1 },
        interval: { color: ink, stroke: ink, opacity: 0.75 },
        error: { fill: soft, color: soft }
      }
    };
  }

  function draw(place) {
    if (place.dataset.drawn) { return place.drawing; }
    place.dataset.drawn = "yes";
    var spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    var weights = spec.usermeta && spec.usermeta.weights || 1;
    place.drawing = window.vegaEmbed(place, spec, {
      mode: "vega-lite",
      renderer: "svg",
      config: look(weights),
      tooltip: { theme: dark.matches ? "dark" : "light" },
      downloadFileName: place.dataset.spec.replace(/-spec$/, ""),
      actions: { export: { svg: true, png: true }, source: true, compiled: false, editor: false }
    }).then(function (result) { place.view = result; }, function (error) {
      place.textContent = "This figure could not be drawn: " + error.message;
    });
    return place.drawing;
  }

  var places = Array.prototype.slice.call(document.querySelectorAll(".chart"));

  function drawAll() { places.forEach(draw); }

  function drawNext() {
    var next = places.find(function (place) { return !place.dataset.drawn; });
    if (next) { draw(next).then(function () { setTimeout(drawNext, 0); }); }
  }

  if ("IntersectionObserver" in window) {
    var near = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
      });
    }, { rootMargin: "300px 0px" });
    places.forEach(function (place) { near.observe(place); });
  }
  setTimeout(drawNext, 50);

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
