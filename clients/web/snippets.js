// snippets.js - the request that was just sent, to repeat from a program.
import { announce, button, h, tabs } from './dom.js';
import { key, url } from './api.js';

const LANGUAGES = { curl, Python: python, JavaScript: javascript };

function curl(address, body) {
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl ${address} -H 'Content-Type: application/json'${key() ? ' -H "Authorization: Bearer $KEY"' : ''} \\\n     -d '${quoted}'`;
}

function python(address, body) {
  const headers = `{"Content-Type": "application/json"${key() ? ', "Authorization": "Bearer " + key' : ''}}`;
  return (
    `import json\nfrom urllib.request import Request, urlopen\n\nbody = json.loads(${JSON.stringify(JSON.stringify(body))})\n` +
    `request = Request("${address}", json.dumps(body).encode(), ${headers})\nprint(json.load(urlopen(request)))`
  );
}

function javascript(address, body) {
  const headers = `{ "Content-Type": "application/json"${key() ? ', Authorization: `Bearer ${key}`' : ''} }`;
  return (
    `const response = await fetch("${address}", {\n  method: "POST",\n  headers: ${headers},\n` +
    `  body: JSON.stringify(${JSON.stringify(body)}),\n});\nconsole.log(await response.json());`
  );
}

export function snippets(path, body) {
  const panel = ([name, write]) => [
    name,
    () => {
      const text = write(url(path), body);
      return h(
        'div',
        null,
        h('pre', { tabindex: 0, 'aria-label': `The request in ${name}` }, text),
        button(
          'Copy',
          () =>
            navigator.clipboard.writeText(text).then(
              () => announce('Copied.'),
              () => announce('The browser does not allow copying.'),
            ),
          { class: 'small' },
        ),
      );
    },
  ];
  return h(
    'details',
    null,
    h('summary', null, 'The same from a program'),
    tabs('Language', Object.entries(LANGUAGES).map(panel)),
  );
}
