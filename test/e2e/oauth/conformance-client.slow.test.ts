import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { parse } from 'yaml'
import { cleanup } from '../../fixtures/cleanup.ts'

const PACKAGE = dirname(findPackageJSON('@modelcontextprotocol/conformance', import.meta.url) ?? '')
const CLIENT = fileURLToPath(new URL('../../compliance/upstream-auth.ts', import.meta.url))
const COMMAND = `"${process.execPath}" --disable-warning=ExperimentalWarning "${CLIENT}"`
const LONGEST_MS = 120_000
/** Suite and gateway are started anew for each scenario: what Node makes of their files is kept, as it is for the tests. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/tests', import.meta.url))

/**
 * Scenarios that do not count, and pass. Three are left out: an authorization server without metadata
 * (`2025-03-26-oauth-endpoint-fallback`) does not say that it checks PKCE, so nobody is sent there; and only bearer tokens are
 * sent, no DPoP (`dpop`, `dpop-nonce`), which is a draft (SEP-1932).
 */
const NOT_SCORED = [
  'auth/client-credentials-jwt',
  'auth/client-credentials-basic',
  'auth/enterprise-managed-authorization',
  'auth/wif-jwt-bearer',
  'auth/2025-03-26-oauth-metadata-backcompat',
]

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

for (const revision of ['2025-11-25', '2026-07-28']) {
  const scored = scenariosOf(revision)
  describe(
    `the official suite finds nothing wrong with how the gateway logs in, at ${revision}`,
    { concurrency: 2 },
    () => {
      for (const scenario of scored)
        test(scenario, { timeout: LONGEST_MS }, t => examine(t, scenario, ['--spec-version', revision]))
    },
  )
  test(`they are all that count at ${revision}`, () => assert.ok(scored.length >= 14, scored.join()))
}

describe('what does not count passes as well', { concurrency: 2 }, () => {
  for (const scenario of NOT_SCORED) test(scenario, { timeout: LONGEST_MS }, t => examine(t, scenario, []))
})

/** The scenarios that count for a revision, as the suite has frozen them. */
function scenariosOf(revision: string): string[] {
  const file = join(PACKAGE, 'requirements', `${revision}.yaml`)
  const { client } = parse(readFileSync(file, 'utf8')) as { client: string[] }
  return client.filter(scenario => scenario.startsWith('auth/'))
}

/** Runs one scenario, in which nothing may fail or warn. */
async function examine(t: TestContext, scenario: string, args: readonly string[]): Promise<void> {
  const results = await mkdtemp(join(tmpdir(), 'conformance-client-'))
  cleanup(t, () => rm(results, { recursive: true, force: true }))
  const program = join(PACKAGE, 'dist', 'index.js')
  const own = ['client', '--command', COMMAND, '--timeout', '100000', '--output-dir', results]
  const output = await new Promise<string>(resolve => {
    const env = { ...process.env, NODE_COMPILE_CACHE: CACHE }
    const options = { timeout: LONGEST_MS, maxBuffer: 64 * 1024 * 1024, env }
    const given = [program, ...own, '--scenario', scenario, ...args]
    execFile(process.execPath, given, options, (_error, stdout, stderr) =>
      resolve(stripVTControlCharacters(stdout + stderr)),
    )
  })
  const files = (await readdir(results, { recursive: true })).filter(file => file.endsWith('checks.json'))
  assert.equal(files.length, 1, output.slice(-2000))
  assert.deepEqual(await failuresIn(join(results, files[0] ?? '')), [], output.slice(-4000))
}

async function failuresIn(file: string): Promise<string[]> {
  const checks = JSON.parse(await readFile(file, 'utf8')) as Check[]
  if (checks.length === 0) return ['it ran no check']
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, errorMessage = '' }) => `${id}: ${errorMessage}`)
}
