import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { findPackageJSON } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { parse } from 'yaml'
import { cleanup } from '../../fixtures/cleanup.ts'

const PACKAGE = dirname(findPackageJSON('@modelcontextprotocol/conformance', import.meta.url) ?? '')
const CLIENT = fileURLToPath(new URL('../../compliance/upstream-auth.ts', import.meta.url))
const COMMAND = `"${process.execPath}" --disable-warning=ExperimentalWarning "${CLIENT}"`
const LONGEST_MS = 280_000

/** Scenarios that are run, do not count, and are expected to fail, each with its reason. */
const EXPECTED_TO_FAIL: Readonly<Record<string, string>> = {
  'auth/2025-03-26-oauth-endpoint-fallback':
    'an authorization server without metadata does not say that it checks PKCE, so nobody is sent there',
  'auth/dpop': 'DPoP is a draft (SEP-1932); only bearer tokens are sent',
  'auth/dpop-nonce': 'DPoP is a draft (SEP-1932); only bearer tokens are sent',
}

interface Check {
  readonly id: string
  readonly status: string
  readonly errorMessage?: string
}

for (const revision of ['2025-11-25', '2026-07-28'])
  test(
    `the official suite finds nothing wrong with how the gateway logs in, at ${revision}`,
    { timeout: LONGEST_MS },
    async t => {
      const scored = await scoredScenarios(revision)

      const { found, output } = await suite(t, ['--suite', 'auth', '--spec-version', revision])

      for (const scenario of scored)
        assert.deepEqual(found.get(scenario), [], `${scenario}\n${output.slice(-2000)}`)
    },
  )

test(
  'grants without a browser pass as well, and so do servers of 2025-03-26 that have metadata',
  { timeout: LONGEST_MS },
  async t => {
    const scenarios = [
      'client-credentials-jwt',
      'client-credentials-basic',
      'enterprise-managed-authorization',
    ]
    for (const name of [...scenarios, 'wif-jwt-bearer', '2025-03-26-oauth-metadata-backcompat']) {
      const scenario = `auth/${name}`
      assert.equal(EXPECTED_TO_FAIL[scenario], undefined)

      const { found, output } = await suite(t, ['--scenario', scenario])

      assert.deepEqual(found.get(scenario), [], output.slice(-2000))
    }
  },
)

/** Runs scenarios; resolves with what failed or warned in each. */
async function suite(
  t: { after(task: () => unknown): void },
  args: readonly string[],
): Promise<{ found: Map<string, string[]>; output: string }> {
  const results = await mkdtemp(join(tmpdir(), 'conformance-client-'))
  cleanup(t, () => rm(results, { recursive: true, force: true }))
  const program = join(PACKAGE, 'dist', 'index.js')
  const own = ['client', '--command', COMMAND, '--timeout', '120000', '--output-dir', results]
  const output = await new Promise<string>(resolve => {
    const options = { timeout: LONGEST_MS, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [program, ...own, ...args], options, (_error, stdout, stderr) =>
      resolve(stripVTControlCharacters(stdout + stderr)),
    )
  })
  const found = new Map<string, string[]>()
  for (const folder of await foldersIn(results)) {
    const scenario = folder.replace(/^.*?auth[-/]/, 'auth/').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
    found.set(scenario, await failuresIn(join(results, folder, 'checks.json')))
  }
  return { found, output }
}

async function foldersIn(results: string): Promise<string[]> {
  const files = await readdir(results, { recursive: true })
  return files.filter(file => file.endsWith('checks.json')).map(file => dirname(file))
}

async function failuresIn(file: string): Promise<string[]> {
  const checks = JSON.parse(await readFile(file, 'utf8')) as Check[]
  if (checks.length === 0) return ['it ran no check']
  return checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, errorMessage = '' }) => `${id}: ${errorMessage}`)
}

async function scoredScenarios(revision: string): Promise<string[]> {
  const file = join(PACKAGE, 'requirements', `${revision}.yaml`)
  const { client } = parse(await readFile(file, 'utf8')) as { client: string[] }
  return client.filter(scenario => scenario.startsWith('auth/'))
}
