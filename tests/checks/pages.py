#!/usr/bin/env python3
"""Opens pages and pictures in headless Chromium, 1280 and 400 pixels wide, on light and on dark: pages.py FOLDER FILE...

Wrong is: an error on the console, text that is cut off or leaves the page, texts that overlap, text that is hard to tell from what is behind it (in a picture,
a bar that it stands on), and anything that comes from outside. FOLDER is for copies with a script that looks at them. Without Chromium the check is skipped (status 77).
"""
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

look = """
<script>
addEventListener('load', () => {
  const wrong = [], texts = [], wide = document.documentElement.clientWidth, limit = Math.max(wide, 1) + 1;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    const r = element.getBoundingClientRect();
    const cell = document.elementsFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2).find(e => e.localName === 'path');
    if (cell && element.closest('svg')) return getComputedStyle(cell).stroke;
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement, words = node.textContent.trim();
    if (!words || element.closest('script,style,title')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) if (r.width > 0) texts.push({words, node, l: r.left, r: r.right, t: r.top, b: r.bottom});
    const style = getComputedStyle(element), back = light(behind(element));
    const front = light(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    if ((Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05) < 4.5) wrong.push('hard to read: ' + words);
    const svg = element.closest('svg');
    if (svg) {
      const frame = svg.getBoundingClientRect(), r = element.getBoundingClientRect();
      const inside = r.left > frame.left - 1 && r.right < frame.right + 1 && r.top > frame.top - 1 && r.bottom < frame.bottom + 1;
      if (!inside) wrong.push('leaves the picture: ' + words);
    } else if (element.scrollWidth > element.clientWidth + 1 && style.display !== 'inline') wrong.push('cut off: ' + words);
  }
  if (texts.length < 5) wrong.push('only ' + texts.length + ' texts are there');
  if (document.documentElement.scrollWidth > limit) wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const a of texts) if (a.l < -1 || a.r > limit || a.t < -1) wrong.push('leaves the page: ' + a.words);
  for (let i = 0; i < texts.length; ++i) for (let k = i + 1; k < texts.length; ++k) {
    const a = texts[i], b = texts[k];
    if (a.node !== b.node && Math.min(a.r, b.r) - Math.max(a.l, b.l) > 1.5 && Math.min(a.b, b.b) - Math.max(a.t, b.t) > 0.25 * (a.b - a.t))
      wrong.push('overlap: ' + a.words + ' | ' + b.words);
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  parent.postMessage({wide, dark, texts: texts.length, wrong: wrong.slice(0, 8)}, '*');
});
</script>
"""
around = """<!DOCTYPE html><meta charset="utf-8"><body>
<iframe src="{page}" style="width:{wide}px;height:2000px;border:0"></iframe>
<script>
let answered = false;
addEventListener('message', e => {{
  answered = true;
  document.body.innerHTML = '';
  document.body.appendChild(document.createElement('pre')).textContent = 'ANSWER ' + JSON.stringify(e.data) + ' END';
}});
</script>"""
# What a page would ask others for.
outside = r"""(?:src|href)\s*=\s*["'](?!#|data:)[^"']*|@import[^;]*|url\((?!#|["']?data:)[^)]*"""


def dump(browser, page, dark, profile):
    """What Chromium makes of a page, and what it says."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += [f"--user-data-dir={profile}", "--disable-extensions", "--disable-background-networking", "--disable-component-update"]
    command += ["--enable-logging=stderr", "--v=0"]
    command += ["--blink-settings=preferredColorScheme=" + ("0" if dark else "1"), "--window-size=1400,1000", "--virtual-time-budget=3000", "--dump-dom"]
    ran = subprocess.run(command + [page.as_uri()], capture_output=True, text=True, timeout=100)
    return ran.stdout, [line for line in ran.stderr.splitlines() if "CONSOLE" in line]


def main():
    folder, files = Path(sys.argv[1]).resolve(), [Path(f) for f in sys.argv[2:]]
    browser = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome")) if b), None)
    if browser is None:
        print("skipped: no Chromium here: apt install chromium")
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    wrong = []
    with tempfile.TemporaryDirectory() as profile:
        for file in files:
            text = file.read_text()
            if found := re.search(outside, text):
                wrong.append(f"{file}: something comes from outside: {found[0]}")
            copy = folder / (file.name + ".html")
            body = text if file.suffix == ".html" else f'<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">{text}'
            copy.write_text(body + look)
            for wide in (1280, 400):
                for dark in (False, True):
                    where = f"{file}, {wide} pixels, {'dark' if dark else 'light'}"
                    frame = folder / f"{file.name}.{wide}.html"
                    frame.write_text(around.format(page=copy.name, wide=wide))
                    dom, console = dump(browser, frame, dark, profile)
                    wrong += [f"{where}: {line}" for line in console]
                    answer = re.search(r"ANSWER (.*?) END", dom, re.S)
                    if answer is None:
                        wrong.append(f"{where}: the page did not answer; is there an error in it?")
                        continue
                    said = json.loads(html.unescape(answer[1]))
                    wrong += [f"{where}: {what}" for what in said["wrong"]]
                    if said["dark"] != dark or abs(said["wide"] - wide) > 16:   # a bar for scrolling takes some
                        wrong.append(f"{where}: Chromium showed it {said['wide']} pixels wide, {'dark' if said['dark'] else 'light'}")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
