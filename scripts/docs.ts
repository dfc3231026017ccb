// Generates documents and tables from the sources; with --check, reports stale files. With --pictures also takes
// screenshots in Chromium: `npm run gen -- --pictures`.
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { dependenciesReference } from './dependencies-reference.ts'
import { errorsReference } from './errors-reference.ts'
import { healthReference } from './health-reference.ts'
import { hooksReference } from './hooks-reference.ts'
import { configReference } from '../schemas/generate/reference.mjs'
import { withLayers } from './layers-table.ts'
import { createLlmsText } from './llms.ts'
import { withFreshSnippets } from './snippets.ts'

const root = new URL('../', import.meta.url)
const sections = await configReference(root)
const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: fileURLToPath(root) })

const outputs: readonly (readonly [string, (present: string) => string | undefined])[] = [
  ...sections.map(([file, text]) => [file, () => text] as const),
  ...listRemovedSections().map(file => [file, () => undefined] as const),
  ['docs/reference/errors.md', errorsReference],
  ['docs/reference/health.md', healthReference],
  ['docs/reference/dependencies.md', dependenciesReference],
  ['llms.txt', () => createLlmsText(root)],
  ['docs/reference/hooks.md', () => hooksReference(markdown => withFreshSnippets(markdown, root))],
  ['ARCHITECTURE.md', withLayers],
  ...documents.map(file => [file, (present: string) => withFreshSnippets(present, root)] as const),
]

mkdirSync(new URL('docs/reference/config/', root), { recursive: true })
for (const [file, make] of outputs) {
  const present = read(file)
  const text = make(present)
  if (text === present) continue
  if (process.argv.includes('--check')) {
    console.error(`${file} is stale, run npm run gen`)
    process.exitCode = 1
  } else {
    if (text === undefined) rmSync(new URL(file, root))
    else writeFileSync(new URL(file, root), text)
    console.log(`${text === undefined ? 'removed' : 'wrote'} ${file}`)
  }
}

if (process.argv.includes('--pictures')) {
  const PICTURES = fileURLToPath(new URL('docs/images', root))
  const flags = ['--disable-warning=ExperimentalWarning', '--test', '--test-reporter=spec']
  const file = fileURLToPath(new URL('test/e2e/browser/take-pictures.ts', root))
  const env = { ...process.env, PICTURES }
  const { status } = spawnSync(process.execPath, [...flags, file], { stdio: 'inherit', env })
  process.exitCode = status ?? 1
}

/** Lists pages of sections that the schema no longer has. */
function listRemovedSections(): string[] {
  const present = globSync('docs/reference/config/*.md', { cwd: fileURLToPath(root) })
  return present.filter(file => !sections.some(([section]) => section === file))
}

function read(file: string): string {
  try {
    return readFileSync(new URL(file, root), 'utf8')
  } catch {
    return ''
  }
}
