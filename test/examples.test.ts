import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { parseEnv } from 'node:util'
import { withFreshSnippets } from '../scripts/snippets.ts'
import { formatProblem, loadConfig, type LoadedConfig, type Problem } from '../src/config/index.ts'
import { GatewayError } from '../src/errors/errors.ts'
import { createGateway } from '../src/gateway/gateway.ts'
import { ROOT } from './guard/sources.ts'

const EXAMPLES = join(ROOT, 'examples')
const examples = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(entry => entry.name)

for (const example of examples) {
  const directory = join(EXAMPLES, example)

  test(`examples/${example} says in at most 40 lines what it shows`, () => {
    const lines = readFileSync(join(directory, 'README.md'), 'utf8').trimEnd().split('\n').length

    assert.ok(lines <= 40, `README.md has ${lines} lines`)
  })

  for (const file of globSync('**/gateway.yaml', { cwd: directory, exclude: ['**/node_modules/**'] })) {
    for (const env of [undefined, ...overlaysOf(join(directory, file))]) {
      const name = `examples/${example}/${file}${env === undefined ? '' : ` in the environment ${env}`}`

      // The example of the sandbox warns where there is no bubblewrap.
      const skip = example === 'sandbox' && process.platform !== 'linux'
      test(`${name} is valid and builds`, { skip }, async () => {
        const loaded = await load(join(directory, file), env)
        const gateway = await createGateway(loaded)
        await gateway.close()

        assert.deepEqual(shown(loaded.warnings), [])
      })
    }
  }
}

for (const document of globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md'], { cwd: ROOT })) {
  test(`the snippets in ${document.replaceAll('\\', '/')} are what their files say`, () => {
    const text = readFileSync(join(ROOT, document), 'utf8')

    assert.equal(text, withFreshSnippets(text, pathToFileURL(ROOT)), 'stale – run npm run gen')
  })
}

/** The environments for which there is a `gateway.<env>.yaml` beside `file`. */
function overlaysOf(file: string): string[] {
  const overlays = globSync('gateway.*.yaml', { cwd: join(file, '..') })
  return overlays.map(overlay => basename(overlay, '.yaml').slice('gateway.'.length))
}

/** Loads with the variables of `.env.example` only, so that an example says what it needs. */
async function load(file: string, env: string | undefined): Promise<LoadedConfig> {
  const cwd = join(file, '..')
  const variables = join(cwd, '.env.example')
  const environment = existsSync(variables) ? parseEnv(readFileSync(variables, 'utf8')) : {}
  try {
    return await loadConfig({ file, env, cwd, environment })
  } catch (error) {
    const problems = error instanceof GatewayError ? error.fields.problems : undefined
    throw Array.isArray(problems) ? new Error(shown(problems as Problem[]).join('\n')) : error
  }
}

function shown(problems: readonly Problem[]): string[] {
  return problems.map(problem => formatProblem(problem, ROOT))
}
