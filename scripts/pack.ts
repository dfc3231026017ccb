// Postpack: removes development fields from package.json in the tarball.
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { withFile } from './tarball.ts'

const PACKAGE = fileURLToPath(new URL('../package.json', import.meta.url))
const DIST = fileURLToPath(new URL('../dist', import.meta.url))
const ONLY_HERE = ['scripts', 'devDependencies', 'optionalDependencies', 'overrides']

const { npm_config_pack_destination: destination = '', npm_package_integrity: integrity = '' } = process.env

// Does not touch the checkout, so that it can be interrupted safely.
function strip(): void {
  if (process.env.npm_config_dry_run === 'true') return
  const manifest = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { name: string; version: string }
  const file = packed(`${manifest.name}-${manifest.version}.tgz`)
  const entries = Object.entries(manifest).filter(([key]) => !ONLY_HERE.includes(key))
  const published = Object.fromEntries(entries)
  const text = Buffer.from(`${JSON.stringify(published, undefined, 2)}\n`)
  const stripped = gzipSync(withFile(gunzipSync(readFileSync(file)), 'package/package.json', text))
  const part = file.replace(/\.tgz$/, '.part.tgz')
  writeFileSync(part, stripped)
  renameSync(part, file)
  console.error(`stripped ${file}: its integrity is ${digestOf(stripped)}`)
}

/** Path of the tarball from npm pack. */
function packed(name: string): string {
  const found = places(name).find(place => isFile(place) && digestOf(readFileSync(place)) === integrity)
  return found ?? refuse(`tarball ${name} not found, not stripped: ${places(name).join(', ')}`)
}

/** Candidate paths; a nested npm may report the outer directory. */
function places(name: string): string[] {
  return [process.env.INIT_CWD ?? '', ''].map(from => resolve(from, destination, name))
}

function digestOf(bytes: Buffer): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

// npm sends the registry the directory's package.json, not the stripped one in the tarball.
function refuseToPublishDirectory(): never {
  return refuse('Publish the tarball, not the directory: npm run release')
}

// npm checks the destination only after prepack has rebuilt dist.
function checkDestination(): void {
  if (destination === '') return
  if (places('').some(place => statSync(place, { throwIfNoEntry: false })?.isDirectory() === true)) return
  refuse(`--pack-destination ${destination} is not a directory`)
}

// Removes stale output.
function clean(): void {
  rmSync(DIST, { recursive: true, force: true })
}

function refuse(why: string): never {
  console.error(why)
  process.exit(1)
}

const steps: Record<string, () => void> = {
  check: checkDestination,
  clean,
  strip,
  refuse: refuseToPublishDirectory,
}
steps[process.argv[2] ?? '']?.()
