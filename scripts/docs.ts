// Generates documents and tables from the sources; with --check, reports stale files. With --pictures also takes
// screenshots in Chromium: `npm run gen -- --pictures`.
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errorsReference } from './errors-reference.ts'
import { healthReference } from './health-reference.ts'
import { hooksReference } from './hooks-reference.ts'
import { withLayers } from './layers-table.ts'
import { withFreshSnippets } from './snippets.ts'

const root = new URL('../', import.meta.url)
const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: fileURLToPath(root) })

const outputs: readonly (readonly [string, (present: string) => string])[] = [
  ['docs/reference/errors.md', errorsReference],
  ['docs/reference/health.md', healthReference],
  ['docs/reference/hooks.md', () => hooksReference(markdown => withFreshSnippets(markdown, root))],
  ['ARCHITECTURE.md', withLayers],
  ...documents.map(file => [file, (present: string) => withFreshSnippets(present, root)] as const),
]

for (const [file, make] of outputs) {
  const present = read(file)
  const text = make(present)
  if (text === present) continue
  if (process.argv.includes('--check')) {
    console.error(`${file} is stale, run npm run gen`)
    process.exitCode = 1
  } else {
    writeFileSync(new URL(file, root), text)
    console.log(`wrote ${file}`)
  }
}

if (process.argv.includes('--pictures')) {
  const PICTURES = fileURLToPath(new URL('docs/images', root))
  const flags = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=spec']
  const file = fileURLToPath(new URL('test/e2e/browser/pictures.slow.test.ts', root))
  const env = { ...process.env, PICTURES }
  const { status } = spawnSync(process.execPath, [...flags, file], { stdio: 'inherit', env })
  process.exitCode = status ?? 1
}

function read(file: string): string {
  try {
    return readFileSync(new URL(file, root), 'utf8')
  } catch {
    return ''
  }
}
