// Writes what documents and tables take from the sources; with --check, only says what is stale.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errorsReference } from './errors-reference.ts'
import { fastFlags } from './fast-flags.ts'
import { healthReference } from './health-reference.ts'
import { withLayers } from './layers-table.ts'
import { withFreshSnippets } from './snippets.ts'

const root = new URL('../', import.meta.url)
const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: fileURLToPath(root) })

const outputs: readonly (readonly [string, (present: string) => string])[] = [
  ['docs/reference/errors.md', errorsReference],
  ['docs/reference/health.md', healthReference],
  ['src/cli/fast-flags.gen.ts', fastFlags],
  ['ARCHITECTURE.md', withLayers],
  ...documents.map(file => [file, (present: string) => withFreshSnippets(present, root)] as const),
]

for (const [file, make] of outputs) {
  const present = read(file)
  const text = make(present)
  if (text === present) continue
  if (process.argv.includes('--check')) {
    console.error(`${file} is stale – run npm run gen`)
    process.exitCode = 1
  } else {
    writeFileSync(new URL(file, root), text)
    console.log(`wrote ${file}`)
  }
}

function read(file: string): string {
  try {
    return readFileSync(new URL(file, root), 'utf8')
  } catch {
    return ''
  }
}
