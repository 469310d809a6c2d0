// Appended to a page by `screens.rs`: waits for its figures, then writes what a reader sees as JSON into the document.
(function () {
  function channel(value) {
    value /= 255;
    return value <= 0.03928 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
  }
  function rgba(text) {
    var found = text.match(/[\d.]+/g);
    return text.indexOf("rgb") === 0 && found ? found.map(Number) : null;
  }
  function luminance(colour) {
    return 0.2126 * channel(colour[0]) + 0.7152 * channel(colour[1]) + 0.0722 * channel(colour[2]);
  }
  function contrast(a, b) {
    var high = Math.max(luminance(a), luminance(b)), low = Math.min(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
  }
  function behind(element) {
    for (var one = element; one; one = one.parentElement) {
      var colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour && (colour.length < 4 || colour[3] > 0)) { return colour; }
    }
    return [255, 255, 255];
  }
  function seen(element) {
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && element.getClientRects().length > 0;
  }
  // The lowest contrast of some elements, with what it is of.
  function lowest(elements, colourOf) {
    return elements.filter(seen).reduce(function (least, element) {
      var colour = rgba(colourOf(element));
      if (!colour || colour[3] < 1) { return least; }
      var found = contrast(colour, behind(element));
      return found < least[0] ? [found, element.outerHTML.slice(0, 160)] : least;
    }, [21, ""]);
  }
  function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
  function bottom(element) { return element ? Math.round(element.getBoundingClientRect().bottom + scrollY) : null; }
  function fact(name) {
    var found = all(".verdict dt").filter(function (one) { return one.textContent === name; })[0];
    return bottom(found && found.nextElementSibling);
  }
  // Bands and marks without an extent are not read for themselves.
  function faint(element) {
    var style = getComputedStyle(element), box = element.getBoundingClientRect();
    return style.opacity * style.fillOpacity * style.strokeOpacity < 0.7 || box.width + box.height < 1;
  }

  function measure() {
    var waiting = all(".chart").filter(function (one) { return seen(one) && !one.querySelector("svg.marks"); });
    if (waiting.length) { return setTimeout(measure, 50); }
    var marks = all(".mark-rect path, .mark-symbol path, .mark-line path").filter(function (one) { return !faint(one); });
    var drawn = lowest(marks, function (one) {
      var style = getComputedStyle(one);
      return style.fill === "none" || style.fill === "rgba(0, 0, 0, 0)" ? style.stroke : style.fill;
    });
    var texts = all("body *").filter(function (one) {
      return !one.closest("svg") && Array.prototype.some.call(one.childNodes, function (node) {
        return node.nodeType === 3 && node.data.trim();
      });
    });
    var result = document.createElement("pre");
    result.id = "measured";
    result.textContent = JSON.stringify({
      height: document.documentElement.scrollHeight,
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      verdict: bottom(document.querySelector(".verdict .big")),
      why: fact("Why"), cause: fact("Cause"), next: fact("Next"),
      picture: bottom(document.querySelector(".answer svg.marks")),
      colours: marks.length,
      drawn: drawn,
      text: lowest(texts, function (one) { return getComputedStyle(one).color; }),
      labels: lowest(all("svg.marks text"), function (one) { return getComputedStyle(one).fill; }),
      clipped: all("table").filter(seen).filter(function (one) {
        return one.scrollWidth > one.parentElement.clientWidth;
      }).map(function (one) { return one.outerHTML.slice(0, 120); })
    });
    document.body.append(result);
  }
  setTimeout(measure, 0);
})();
