import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { parseEnv, promisify } from 'node:util'

export type Inspections = Readonly<Record<string, { readonly inspect: unknown; readonly validate: unknown }>>

const run = promisify(execFile)

/** Everything that `inspect` and `validate` print of each example of a built checkout, without what the machine decides. */
export async function readInspections(root: string): Promise<Inspections> {
  const checkout = resolve(root)
  const home = mkdtempSync(join(tmpdir(), 'inspections-'))
  try {
    const read: [string, { inspect: unknown; validate: unknown }][] = []
    for (const { file, env } of configurations(checkout)) {
      const flags = ['--json', '-c', file, ...(env === undefined ? [] : ['--env', env])]
      const print = (...command: string[]): Promise<unknown> =>
        printed(checkout, file, home, [...command, ...flags])
      const name = env === undefined ? file : `${file} --env ${env}`
      const [inspect, validate] = await Promise.all([print('inspect', '--offline'), print('validate')])
      read.push([name, { inspect, validate }])
    }
    return Object.fromEntries(read)
  } finally {
    rmSync(home, { recursive: true })
  }
}

function configurations(checkout: string): { file: string; env?: string }[] {
  const files = globSync('examples/**/gateway.yaml', {
    cwd: checkout,
    exclude: ['**/node_modules/**'],
  }).sort()
  return files.flatMap(file => {
    const overlays = globSync('gateway.*.yaml', { cwd: join(checkout, dirname(file)) }).sort()
    const environments = overlays.map(overlay => basename(overlay, '.yaml').slice('gateway.'.length))
    return [{ file }, ...environments.map(env => ({ file, env }))]
  })
}

async function printed(checkout: string, file: string, home: string, command: string[]): Promise<unknown> {
  const example = join(checkout, dirname(file), '.env.example')
  const env = {
    // No program is found there, whatever the machine has: it is in the warnings if one is missing.
    PATH: home,
    HOME: home,
    ...(existsSync(example) ? parseEnv(readFileSync(example, 'utf8')) : {}),
  }
  const options = { cwd: checkout, env, maxBuffer: 16 * 1024 * 1024 }
  const { stdout } = await run(process.execPath, [join(checkout, 'bin/run.js'), ...command], options)
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
  const masks = [
    [checkout, '<checkout>'],
    [home, '<home>'],
    [`"version": "${version}"`, '"version": "<own>"'],
  ] as const
  return JSON.parse(masks.reduce((text, [what, as]) => text.replaceAll(what, as), stdout))
}
