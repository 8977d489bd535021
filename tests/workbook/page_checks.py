"""What every page has to fulfil in a browser. Each function takes a browser.Page and returns what is
wrong with it: a list, empty for a page that is right."""

import json

WIDTHS = (390, 800, 1440)

# What reaches out of the window and is in nothing that scrolls: [tag, class, right edge].
_OVERFLOWING = """(() => {
  const found = [], whole = document.documentElement;
  for (const one of document.querySelectorAll('main *')) {
    const box = one.getBoundingClientRect();
    if (box.width === 0 || box.right <= innerWidth + 1) continue;
    let parent = one, scrolls = false;
    while (parent && parent.tagName !== 'MAIN' && !scrolls) {
      const style = getComputedStyle(parent);
      scrolls = ['auto', 'scroll'].includes(style.overflowX) || style.position === 'absolute';
      parent = parent.parentElement;
    }
    if (!scrolls) found.push([one.tagName, String(one.className), Math.round(box.right)]);
  }
  if (whole.scrollWidth > innerWidth) found.push(['html', '', whole.scrollWidth]);
  return found.slice(0, 5);
})()"""
_NAMELESS = """[...document.querySelectorAll('img:not([alt]), iframe:not([title]), input, select, '
  + 'textarea, button, summary, [role=img]')].filter((one) => one.matches('img, iframe')
    || !(one.labels?.length || one.getAttribute('aria-label') || one.getAttribute('alt')
      || one.textContent.trim())).map((one) => one.outerHTML.slice(0, 120))"""
_HEADINGS = """[...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')]
  .map((one) => one.tagName)"""
_CONTROLS = ":is(a[href], button, select, input, textarea, summary, [tabindex='0']):not(:disabled)"
# Controls, the one that has the focus, and whether it shows that it has it.
_WATCH = """(() => {
  window.reached = new Set();
  window.unmarked = [];
  document.addEventListener('focusin', ({target}) => {
    window.reached.add(target);
    const marked = [target, ...target.children].map((one) => getComputedStyle(one))
      .some((style) => style.outlineStyle !== 'none' || style.boxShadow !== 'none');
    if (!marked)
      window.unmarked.push('without a mark: ' + target.outerHTML.slice(0, 80));
  });
  window.controls = () =>
    [...document.querySelectorAll(CONTROLS)].filter(
      (one) => one.checkVisibility({visibilityProperty: true}));
  return window.controls().length;
})()""".replace("CONTROLS", json.dumps(_CONTROLS))
_UNREACHED = """window.controls().filter((one) => !window.reached.has(one))
  .map((one) => one.outerHTML.slice(0, 80)).concat(window.unmarked).slice(0, 5)"""
# axe's findings that count: [rule, element, what to mend].
_AXE = """axe.run(document, {resultTypes: ['violations']}).then((result) =>
  result.violations.filter((one) => ['serious', 'critical'].includes(one.impact)).flatMap((one) =>
    one.nodes.slice(0, 3).map((node) =>
      [one.id, node.html.slice(0, 160), (node.failureSummary || '').slice(0, 300)])))"""


def overflowing(page):
    """What reaches out of the window."""
    return page.evaluate(_OVERFLOWING)


def nameless(page):
    """Pictures, frames and controls without a name."""
    return page.evaluate(_NAMELESS)


def headings(page):
    """Headings that are a second <h1>, or more than one level below the one before."""
    levels = [int(tag[1]) for tag in page.evaluate(_HEADINGS)]
    return ([] if levels.count(1) == 1 else [f"{levels.count(1)} x h1"]) + [
        f"h{below} after h{above}" for above, below in zip(levels, levels[1:]) if below > above + 1]


def unreached(page):
    """Visible controls that Tab does not reach, and those that do not show that they have the focus."""
    count = page.evaluate(_WATCH)
    if not count:
        return ["no control on the page"]
    for _ in range(count + 1):
        page.press("Tab")
    return page.evaluate(_UNREACHED)


def inaccessible(page, axe):
    """What axe finds that is serious or worse; `axe` is its program."""
    page.evaluate(axe + "; 0")
    return page.evaluate(_AXE)
