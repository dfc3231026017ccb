import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ROOT } from './guard/sources.ts'

const MAX_FILES = 6
let made: Tree | undefined
const CONFIG = "version: 1\nupstreams: { web: { type: http, url: 'http://127.0.0.1:1/mcp' } }\n"

after(() => made?.remove())

test('a new configuration key changes at most six files, and its plugin reads it', () => {
  const tree = fresh()
  tree.insert(
    'plugins/session-headers/schema.json',
    '"required": ["upstreams"],\n      "properties": {',
    '"loud": { "description": "Prints a line at each start.", "type": "boolean", "default": false },',
  )
  tree.insert(
    'plugins/session-headers/index.ts',
    'setup({ options, hooks, slot }) {',
    "if (options.loud) console.error('!')",
  )
  tree.run('schemas/generate.mjs')
  tree.run('scripts/docs.ts')
  const changes = tree.listChanges()

  assert.ok(changes.includes('docs/reference/config/sessionHeaders.md'), changes.join(' '))
  assert.ok(changes.length <= MAX_FILES, changes.join(' '))
  assert.match(tree.inspect(`${CONFIG}sessionHeaders: { upstreams: [web], loud: true }\n`), /^!$/m)
  assert.match(
    tree.inspect(`${CONFIG}sessionHeaders: { upstreams: [web], loud: aloud }\n`),
    /gateway\.yaml:3:\d+.*loud/,
  )
})

test('a new hook changes at most six files, and a plugin taps it', () => {
  const tree = fresh()
  tree.insert(
    'src/hooks/hook-table.ts',
    'export const HOOKS: Readonly<Record<HookName, HookRow>> = {',
    "inspected: { kind: 'sync' },",
  )
  tree.insert(
    'src/hooks/hook-taps.ts',
    'export interface HookTaps {\n  // Building the gateway',
    [
      '/**',
      ' * Runs: When the gateway is inspected.\n   *\n   * May change: Nothing.\n   *\n   * If it throws: The command fails.',
      ' *\n   * @example examples/hooks/living.ts#inspected',
      ' */',
      'inspected: (config: Config) => void',
    ].join('\n  '),
  )
  tree.insert(
    'src/gateway/inspect.ts',
    '    hooks: listHookOrder(graph),',
    "...graph.hooks.getRunner('inspected')?.(graph.config),",
  )
  const plugin =
    "{ name: 'inspected', setup: ({ hooks }) => hooks.inspected.tap(({ version }) => console.error('version', version)) }"
  tree.write('tap.mjs', `export default ${plugin}\n`)
  const sample = `// #region inspected\nexport const inspected: Plugin<never> = ${plugin}\n// #endregion inspected\n`
  tree.write('examples/hooks/living.ts', tree.read('examples/hooks/living.ts') + sample)
  tree.run('scripts/docs.ts')
  tree.run('--test', '--test-update-snapshots', 'test/hooks.test.ts')
  const changes = tree.listChanges()

  assert.ok(changes.length <= MAX_FILES, changes.join(' '))
  assert.equal(tree.run('--test', 'test/hooks.test.ts').status, 0)
  assert.match(tree.inspect(`${CONFIG}plugins: { inspected: { use: ./tap.mjs } }\n`), /^version 1$/m)
})

/** The copy of the repository as it was. */
function fresh(): Tree {
  made ??= new Tree()
  made.reset()
  return made
}

/** A copy of the repository that tests change. */
class Tree {
  readonly #root = mkdtempSync(join(tmpdir(), 'recipe-'))

  constructor() {
    for (const file of execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
      .split('\0')
      .filter(Boolean))
      cpSync(join(ROOT, file), join(this.#root, file))
    symlinkSync(join(ROOT, 'node_modules'), join(this.#root, 'node_modules'))
    this.#git('init', '-q')
    this.#git('add', '-A')
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }

  /** Makes all of it as it was, with what is generated. */
  reset(): void {
    this.#git('checkout', '-q', '.')
    this.run('schemas/generate.mjs')
  }

  insert(file: string, after: string, text: string): void {
    const before = this.read(file)
    assert.ok(before.includes(after), `${file} has no "${after}"`)
    this.write(file, before.replace(after, `${after}\n  ${text}`))
  }

  read(file: string): string {
    return readFileSync(join(this.#root, file), 'utf8')
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#root, file), text)
  }

  run(...args: string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      cwd: this.#root,
      encoding: 'utf8',
    })
    return { status, output: stdout + stderr }
  }

  /** Runs `gateway inspect` from the sources of the copy. */
  inspect(config: string): string {
    this.write('gateway.yaml', config)
    return this.run('scripts/dev.ts', 'inspect', '--offline').output
  }

  /** Lists the tracked files that differ from the copy as it was made. */
  listChanges(): string[] {
    return this.#git('diff', '--name-only').split('\n').filter(Boolean)
  }

  #git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.#root, encoding: 'utf8' })
  }
}
