import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseDocument } from 'yaml'
import { SECTIONS } from '../src/config/keys.gen.ts'
import { validate } from '../src/config/finish-config.ts'
import { isObject } from '../src/protocol/json/json.ts'
import { ROOT } from './guard/sources.ts'

const DOCUMENTS = globSync(['*.md', 'docs/*.md', 'plugins/*/README.md', 'examples/*/README.md'], {
  cwd: ROOT,
})
/** Sections of plugins that the reader writes. */
const OF_READERS = new Set(['budget', 'my-plugin'])

/** The blocks of YAML in a document, with the lines that they begin at. */
function blocksOf(text: string): { readonly yaml: string; readonly line: number }[] {
  return [...text.matchAll(/^( *)```ya?ml\n([^]*?)^ *```$/gm)].map(({ 1: indent = '', 2: body = '', index }) => ({
    yaml: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    line: text.slice(0, index).split('\n').length + 1,
  }))
}

for (const document of DOCUMENTS)
  test(`the configurations in ${document.replaceAll('\\', '/')} are valid`, () => {
    for (const { yaml, line } of blocksOf(readFileSync(join(ROOT, document), 'utf8'))) {
      const parsed = parseDocument(yaml)
      assert.deepEqual(parsed.errors, [], `${document}:${line}`)
      const config: unknown = parsed.toJS()
      if (!isObject(config) || !Object.keys(config).some(key => SECTIONS.has(key))) continue
      const known = Object.entries(config).filter(([key]) => !OF_READERS.has(key))
      const problems = validate(Object.fromEntries(known)).map(({ pointer, message }) => `${pointer} ${message}`)
      assert.deepEqual(problems, [], `${document}:${line}`)
    }
  })
