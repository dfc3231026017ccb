// Builds and publishes a release: node scripts/release.ts [--dry-run] [--only <step,step>] [--output <directory>]
// A dry run builds everything and prints the commands that would publish it.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { formatFormula, formatWinget, readManifest, type ReleaseFile } from './release/installers.ts'
import { formatNotes, listSubjects } from './release/notes.ts'
import { createSbom } from './release/sbom.ts'
import { buildSingleFile } from './release/single-file.ts'

const { values } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, only: { type: 'string' }, output: { type: 'string', default: 'release' } },
})
const isDryRun = values['dry-run'] === true
const output = resolve(values.output)
process.chdir(fileURLToPath(new URL('../', import.meta.url)))

const manifest = readManifest()
const tag = `v${manifest.version}`
const repository = manifest.homepage.replace('#readme', '')
const tarball = join(output, `tapgate-${manifest.version}.tgz`)
// A variable that is not set is empty in a workflow.
const image = process.env.IMAGE || 'tapgate'
/** A version such as 1.0.0-rc.1 does not become the latest. */
const isPrerelease = manifest.version.includes('-')

const STEPS: Readonly<Record<string, () => void>> = {
  check: () => {
    if (process.env.GITHUB_REF_TYPE === 'tag' && process.env.GITHUB_REF_NAME !== tag)
      throw new Error(`the tag ${process.env.GITHUB_REF_NAME ?? ''} is not the version of package.json (${tag})`)
    run('npm', ['run', '--silent', 'gen:check'])
    run('npm', ['run', '--silent', 'types'])
    run('npm', ['run', '--silent', 'lint:package'])
  },
  package() {
    run('npm', ['pack', '--silent', '--pack-destination', output])
    write('gateway.schema.json', readFileSync('schemas/gateway.json', 'utf8'))
  },
  'single-file': buildArchive,
  sbom: () => write('sbom.cdx.json', createSbom(manifest)),
  notes: () => write('notes.md', formatNotes(listSubjects())),
  installers: writeInstallers,
  checksums: () => {
    const files = readdirSync(output).filter(
      name => !['SHA256SUMS', 'notes.md'].includes(name) && statSync(join(output, name)).isFile(),
    )
    write(
      'SHA256SUMS',
      files
        .sort()
        .map(name => `${digest(join(output, name))}  ${name}\n`)
        .join(''),
    )
  },
  sign: () =>
    publish('cosign', [
      'sign-blob',
      '--yes',
      '--bundle',
      join(output, 'SHA256SUMS.sigstore.json'),
      join(output, 'SHA256SUMS'),
    ]),
  npm: () =>
    publish('npm', [
      'publish',
      tarball,
      '--provenance',
      '--access',
      'public',
      ...(isPrerelease ? ['--tag', 'next'] : []),
    ]),
  image: () => {
    const revision = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
    const labels = [`VERSION=${manifest.version}`, `REVISION=${revision}`].flatMap(arg => ['--build-arg', arg])
    const platforms = ['--platform', 'linux/amd64,linux/arm64']
    for (const [target, suffix] of [
      ['runtime', ''],
      ['tools', '-tools'],
    ] as const) {
      const versions = [manifest.version, ...(isPrerelease ? [] : ['latest'])]
      const names = versions.map(one => `${image}:${one}${suffix}`).flatMap(name => ['--tag', name])
      const attestations = ['--provenance=true', '--sbom=true', '--push', '.']
      publish('docker', [
        'buildx',
        'build',
        '-f',
        'deploy/docker/Dockerfile',
        '--target',
        target,
        ...platforms,
        ...labels,
        ...names,
        ...attestations,
      ])
    }
  },
  github: () => {
    const files = readdirSync(output, { withFileTypes: true }).filter(
      entry => entry.isFile() && entry.name !== 'notes.md',
    )
    const paths = files.map(({ name }) => join(output, name))
    publish('gh', [
      'release',
      'create',
      tag,
      '--verify-tag',
      ...(isPrerelease ? ['--prerelease'] : []),
      '--title',
      tag,
      '--notes-file',
      join(output, 'notes.md'),
      ...paths,
    ])
  },
}

mkdirSync(output, { recursive: true })
const only = values.only?.split(',') ?? Object.keys(STEPS)
for (const name of only) {
  const step = STEPS[name]
  if (step === undefined) throw new Error(`unknown step "${name}": ${Object.keys(STEPS).join(', ')}`)
  console.log(`\n# ${name}`)
  step()
}
console.log(`\n${output}`)
for (const name of readdirSync(output).sort())
  console.log(`  ${String(statSync(join(output, name)).size).padStart(10)}  ${name}`)

/** Builds the executable of this platform, packed as users download it. */
function buildArchive(): void {
  if (!existsSync(tarball)) throw new Error(`${tarball} is missing: run the step "package" first`)
  const file = buildSingleFile(tarball, 'gateway', output)
  const isWindows = process.platform === 'win32'
  const name = `tapgate-${manifest.version}-${process.platform}-${process.arch}.${isWindows ? 'zip' : 'tar.gz'}`
  // The tar of Windows writes zip archives, too.
  run('tar', [isWindows ? '-acf' : '-czf', join(output, name), '-C', output, basename(file)])
  rmSync(file)
}

/** Writes the manifests whose file is there: the archive for Windows is built on Windows. */
function writeInstallers(): void {
  write('tapgate.rb', formatFormula(manifest, describeFile(tarball)))
  const archive = join(output, `tapgate-${manifest.version}-win32-x64.zip`)
  if (!existsSync(archive)) return console.log(`no winget manifests: ${basename(archive)} is built on Windows`)
  for (const [name, text] of Object.entries(formatWinget(manifest, describeFile(archive)))) write(name, text)
}

function describeFile(file: string): ReleaseFile {
  return { url: `${repository}/releases/download/${tag}/${basename(file)}`, sha256: digest(file) }
}

function digest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** Writes a file of the release, which is whole or missing. */
function write(name: string, text: string): void {
  const file = join(output, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.part`, text)
  renameSync(`${file}.part`, file)
}

function publish(command: string, args: readonly string[]): void {
  if (isDryRun) console.log(`would run: ${[command, ...args].join(' ')}`)
  else run(command, args)
}

function run(command: string, args: readonly string[]): void {
  // On Windows npm is a script, which only a shell starts.
  execFileSync(command, [...args], { stdio: 'inherit', shell: process.platform === 'win32' && command === 'npm' })
}
