// browser.mjs - Chromium on a page of the web console, which notes whatever must not happen there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import puppeteer from 'puppeteer-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export class Browser {
  static async start() {
    const browser = new Browser();
    const sandbox = process.getuid() === 0 ? ['--no-sandbox'] : []; // Chromium refuses it to root
    browser.chromium = await puppeteer.launch({
      executablePath: process.env.CHROMIUM,
      args: [...sandbox, '--disable-dev-shm-usage', '--force-prefers-reduced-motion'],
    });
    return browser;
  }

  stop() {
    return this.chromium.close();
  }

  /// A page of its own session, at this view of a daemon's console.
  async open(url, view = '') {
    const context = await this.chromium.createBrowserContext();
    const page = new Page(await context.newPage(), url);
    page.context = context;
    await page.page.setViewport({ width: 1100, height: 900 });
    await page.go(view);
    return page;
  }
}

export class Page {
  constructor(page, url) {
    this.page = page;
    this.url = url;
    this.wrong = []; // errors of the console, requests to other origins
    page.setDefaultTimeout(60000);
    page.on('console', (message) => {
      const refused = /status of 4\d\d/.test(message.text()); // the browser logs every such response
      if (message.type() === 'error' && !refused) this.wrong.push(message.text());
    });
    page.on('pageerror', (error) => this.wrong.push(error.message));
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== url)
        this.wrong.push(`a request to ${request.url()}`);
    });
  }

  async go(view) {
    await this.page.goto(`${this.url}/ui/${view}`, { waitUntil: 'load' });
    await this.page.waitForSelector('main h1');
  }

  /// Fails if anything went wrong, and closes the page.
  async close() {
    assert.deepEqual(this.wrong, []);
    await this.context.close();
  }

  text(selector) {
    return this.page.$eval(selector, (element) => element.innerText);
  }

  texts(selector) {
    return this.page.$$eval(selector, (elements) => elements.map((element) => element.innerText));
  }

  /// Waits until the page has this text somewhere.
  async says(text, where = 'main') {
    try {
      await this.page.waitForFunction(
        (at, wanted) => document.querySelector(at)?.innerText.includes(wanted),
        {},
        where,
        text,
      );
    } catch {
      assert.fail(`the page does not say "${text}" in ${where}: ${await this.text('main')}`);
    }
  }

  /// The control with this label.
  async labelled(label) {
    const handle = await this.page.waitForSelector(`::-p-aria(${label})`);
    assert.ok(handle, `there is no control "${label}"`);
    return handle;
  }

  async fill(label, value) {
    const control = await this.labelled(label);
    await control.evaluate((element, text) => {
      element.value = text;
      element.dispatchEvent(new Event('input', { bubbles: true }));
      element.dispatchEvent(new Event('change', { bubbles: true }));
    }, value);
  }

  async press(name) {
    const button = await this.page.waitForSelector(
      `::-p-xpath(//main//button[normalize-space()="${name}"] | //header//button[normalize-space()="${name}"] | //dialog//button[normalize-space()="${name}"])`,
    );
    await button.click();
  }

  /// Serious findings of axe, in light and dark.
  async checkAccess(name) {
    for (const scheme of ['light', 'dark']) {
      await this.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      const client = await this.page.createCDPSession(); // not by the page, whose policy forbids it
      await client.send('Runtime.evaluate', { expression: AXE });
      const { result } = await client.send('Runtime.evaluate', {
        expression:
          'axe.run().then((found) => JSON.stringify(found.violations.map((v) => [v.impact, v.id, v.nodes[0].html.slice(0, 200)])))',
        awaitPromise: true,
        returnByValue: true,
      });
      const serious = JSON.parse(result.value).filter(([impact]) => impact === 'serious' || impact === 'critical');
      assert.deepEqual(serious, [], `${name}, ${scheme}`);
    }
    await this.page.emulateMediaFeatures([]);
  }

  /// Nothing is cut on a telephone.
  async checkNarrow(name) {
    await this.page.setViewport({ width: 360, height: 740 });
    const width = await this.page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(width <= 360, `${name}: ${width} pixels wide`);
    await this.page.setViewport({ width: 1100, height: 900 });
  }

  /// Written if SLUICE_SCREENSHOTS names a folder; that there is something on it is always checked.
  async screenshot(name, options = {}) {
    const folder = process.env.SLUICE_SCREENSHOTS;
    const image = await this.page.screenshot({ ...(folder && { path: `${folder}/${name}.png` }), ...options });
    assert.ok(image.length > 10000, `${name}: an empty picture of ${image.length} bytes`);
  }
}
