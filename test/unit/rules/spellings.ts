import { posix } from 'node:path'
import type { JsonObject } from '../../../src/protocol/json/json.ts'

/** Ways to write `file:///secret/plan`, as one server or another reads them. */
export const SPELLINGS: readonly string[] = [
  'file:///secret/plan',
  'FILE:///secret/plan',
  'File:///secret/plan',
  'file:/secret/plan',
  'file:secret/plan',
  'file://localhost/secret/plan',
  'file://LOCALHOST/secret/plan',
  'file://%6cocalhost/secret/plan',
  'file://localhost:/secret/plan',
  'file://localhost:80/secret/plan',
  'file://127.0.0.1/secret/plan',
  'file://example.com/secret/plan',
  'file://user@localhost/secret/plan',
  'file:////secret/plan',
  'file://///secret/plan',
  'file:///secret//plan',
  'file:///secret/./plan',
  'file:///./secret/plan',
  'file:///open/../secret/plan',
  'file:///../secret/plan',
  'file:///open//../../secret/plan',
  'file:///open/x/../../secret/plan',
  'file:///secret/x/../plan',
  'file:///secret/plan/',
  'file:///secret/plan/.',
  'file:///secret/plan/x/..',
  'file:///%73ecret/plan',
  'file:///%73%65%63%72%65%74/plan',
  'file:///secret/%70lan',
  'file:///secret/pla%6E',
  'file:///secret/pla%6e',
  'file:///%2e/secret/plan',
  'file:///open/%2e%2e/secret/plan',
  'file:///open/.%2e/secret/plan',
  'file:///open/%2E./secret/plan',
  'file:///secret%2fplan',
  'file:///secret%2Fplan',
  'file:///%2fsecret/plan',
  'file:///open%2f..%2fsecret%2fplan',
  'file:///open/..%2fsecret/plan',
  'file:///secret%5cplan',
  'file:///secret\\plan',
  'file:\\\\\\secret\\plan',
  'file:///open\\..\\secret\\plan',
  'file:///open/..\\secret/plan',
  'file:///%2573ecret/plan',
  'file:///secret%252fplan',
  'file:///open/%252e%252e/secret/plan',
  'file:///%c0%afsecret/plan',
  'file:///open/%c0%ae%c0%ae/secret/plan',
  'file:///secret/plan%00',
  'file:///secret/plan%00.txt',
  'file:///secret/plan\u0000',
  'file:///secret/plan?',
  'file:///secret/plan?x=1',
  'file:///secret/plan#',
  'file:///secret/plan#x',
  'file:///secret/plan%23',
  'file:///secret/plan%3fx',
  ' file:///secret/plan',
  'file:///secret/plan ',
  '\tfile:///secret/plan',
  'fi\nle:///secret/plan',
  'file:///sec\tret/plan',
  'file:///secret/plan\n',
  'file:///secret/plan%0a',
  'file:///secret/plan%20',
  'file:///secret/%',
  'file:///secret/plan%',
  'file:///secret/plan%7',
  '/secret/plan',
  '//localhost/secret/plan',
  'secret/plan',
  '%66ile:///secret/plan',
  'file%3A///secret/plan',
  'url:file:///secret/plan',
  'localhost/secret/plan',
]

const BLANKS = /[ \p{Cc}]/gu

/** All that a server that takes nothing strictly finds behind a URI: it decodes twice, and looks at the path alone. */
export function leniently(uri: string): string {
  let text = uri.replace(BLANKS, '')
  for (let round = 0; round < 2; round++) text = text.replace(/%[0-9a-f]{2}/gi, unescape)
  text = text.replaceAll('\u00c0\u00af', '/').replaceAll('\u00c0\u00ae', '.').replaceAll('\\', '/')
  text = text.replace(BLANKS, '')
  text = text
    .replace(/^(url:)?file:/i, '')
    .replace(/^\/\/[^/]*/, '')
    .replace(/^localhost/, '')
  text = text.replace(/[?#%].*$/, '')
  return posix.resolve('/', text)
}

function unescape(triplet: string): string {
  return String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
}

/** A server of files that reads every spelling. */
export function lenientFiles(): JsonObject {
  return {
    resources: { 'file:///open/a': 'open' },
    resourceTemplates: [{ uriTemplate: 'file:///{+path}', name: 'files' }],
    capabilities: { resources: { subscribe: true }, completions: {} },
    methods: {
      'resources/read': ({ uri }: JsonObject) => ({
        contents: [{ uri, text: leniently(String(uri)) === '/secret/plan' ? 'TOP SECRET' : 'nothing of note' }],
      }),
      'resources/subscribe': () => ({}),
      'resources/unsubscribe': () => ({}),
      'completion/complete': () => ({ completion: { values: [] } }),
    },
  }
}
