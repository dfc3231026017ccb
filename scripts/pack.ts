// Published packages need neither the Node of this repository nor its tools: prepack strips package.json and names the man pages, postpack restores it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGE = fileURLToPath(new URL('../package.json', import.meta.url))
const ORIGINAL = fileURLToPath(new URL('../node_modules/.cache/tapgate/package.json', import.meta.url))
const DIST = fileURLToPath(new URL('../dist', import.meta.url))
const ONLY_HERE = ['scripts', 'devDependencies', 'optionalDependencies']

function strip(): void {
  restore()
  const original = readFileSync(PACKAGE, 'utf8')
  mkdirSync(dirname(ORIGINAL), { recursive: true })
  writeFileSync(ORIGINAL, original)
  const entries = Object.entries(JSON.parse(original) as object).filter(([key]) => !ONLY_HERE.includes(key))
  const published = { ...Object.fromEntries(entries), man: manPages() }
  writeFileSync(PACKAGE, `${JSON.stringify(published, undefined, 2)}\n`)
}

// npm links those that package.json names, and looks into no folder.
function manPages(): string[] {
  return readdirSync(`${DIST}/man`)
    .sort()
    .map(file => `./dist/man/${file}`)
}

// A pack that was cut short leaves the stripped file behind; one that has scripts again was mended by hand.
function restore(): void {
  if (!existsSync(ORIGINAL)) return
  const present = JSON.parse(readFileSync(PACKAGE, 'utf8')) as object
  if (!('scripts' in present)) writeFileSync(PACKAGE, readFileSync(ORIGINAL))
  rmSync(ORIGINAL)
}

// npm sends the registry the package.json that postpack has restored, but a tarball's own is the stripped one.
function refuseToPublishDirectory(): never {
  console.error('Publish the tarball, not the directory: npm run release')
  process.exit(1)
}

// npm looks at it after prepack only, and runs no postpack when it cannot write there: package.json would stay stripped.
function checkDestination(): void {
  const destination = process.env.npm_config_pack_destination
  if (destination === undefined || destination === '') return
  if (statSync(destination, { throwIfNoEntry: false })?.isDirectory() === true) return
  console.error(`--pack-destination ${destination} is no directory`)
  process.exit(1)
}

// Removes the output of an earlier build, which must not be published.
function clean(): void {
  rmSync(DIST, { recursive: true, force: true })
}

const steps: Record<string, () => void> = {
  check: checkDestination,
  clean,
  strip,
  restore,
  refuse: refuseToPublishDirectory,
}
steps[process.argv[2] ?? '']?.()
