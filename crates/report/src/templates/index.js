// Filters of the list of runs.
(function () {
  "use strict";
  var form = document.getElementById("filters");
  if (!form) { return; }
  var words = document.getElementById("words");
  var rows = Array.prototype.slice.call(document.querySelectorAll("#list tbody tr"));
  var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
  function apply() {
    var terms = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    var allowed = Array.prototype.slice.call(form.querySelectorAll("input[name=verdict]:checked"))
      .map(function (box) { return box.value; });
    var shown = 0;
    rows.forEach(function (row, index) {
      var here = allowed.indexOf(row.dataset.verdict) >= 0 &&
        terms.every(function (word) { return texts[index].indexOf(word) >= 0; });
      row.hidden = !here;
      if (here) { shown += 1; }
    });
    document.getElementById("shown").textContent =
      shown === rows.length ? "" : shown + " of " + rows.length + " shown";
  }
  form.addEventListener("input", apply);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  document.addEventListener("keydown", function (event) {
    if (event.key === "/" && document.activeElement !== words) { event.preventDefault(); words.focus(); }
    if (event.key === "Escape" && document.activeElement === words) { words.value = ""; apply(); }
  });
  apply();
})();
