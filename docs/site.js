// Make boxes that scroll reachable by keyboard, and give the buttons of code blocks labels for screen readers.
// The theme adds both after the page has loaded, so this runs again when elements are added.
(() => {
  "use strict";
  const label = () => {
    document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset div:has(> table.dataframe)").forEach((box) => {
      if (box.tabIndex >= 0 || box.scrollWidth <= box.clientWidth) return;
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Table that scrolls");
    });
    document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((buttons) => {
      const number = document.querySelectorAll(".md-code__nav[aria-label]").length + 1;
      buttons.setAttribute("aria-label", `Buttons of code block ${number}`);
    });
  };
  addEventListener("DOMContentLoaded", () => {
    label();
    new MutationObserver(label).observe(document.body, { childList: true, subtree: true });
  });
  addEventListener("resize", label);
})();
