// The main program of the single file: unpacks its files at the first start, then runs the command line from them.
const { existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { dirname, join } = require('node:path')
const { getRawAsset } = require('node:sea')
const { pathToFileURL } = require('node:url')
const { constants, Script } = require('node:vm')
const { zstdDecompressSync } = require('node:zlib')

const DIGEST = 'DIGEST_OF_FILES'

const launcher = join(findDirectory(), 'bin', 'run.js')
// The gateway starts itself, and clients start it, as `<executable> <launcher> <arguments>`: maybe that of an older version.
const hasLauncher = /files-[\da-f]{16}[\\/]bin[\\/]run\.js$/.test(process.argv[2] ?? '')
const given = process.argv.slice(hasLauncher ? 3 : 2)
process.argv.splice(1, Infinity, launcher, ...given)
const load = new Script('url => import(url)', {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}).runInThisContext()
load(pathToFileURL(launcher).href).catch(error => {
  console.error(error)
  process.exitCode = 1
})

/** Returns the directory with the files, which only this user can write. */
function findDirectory() {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env
  const base = XDG_CACHE_HOME || (HOME && join(HOME, '.cache')) || LOCALAPPDATA
  const directory = base && join(base, 'tapgate', `files-${DIGEST}`)
  try {
    if (directory && isUnpacked(directory)) return directory
    if (directory) return unpack(dirname(directory), directory)
  } catch {
    // A read-only home: a temporary directory serves as well.
  }
  const temporary = join(tmpdir(), `tapgate-${process.getuid?.() ?? ''}-files-${DIGEST}`)
  return isUnpacked(temporary) ? temporary : unpack(tmpdir(), temporary)
}

function isUnpacked(directory) {
  if (!existsSync(join(directory, 'bin', 'run.js'))) return false
  const found = lstatSync(directory)
  return process.getuid === undefined || (found.uid === process.getuid() && (found.mode & 0o022) === 0)
}

/** Unpacks next to the target and renames, so that a start that runs at the same time finds all files or none. */
function unpack(parent, target) {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const part = mkdtempSync(join(parent, 'files-'))
  const bytes = zstdDecompressSync(Buffer.from(getRawAsset('files')))
  let at = bytes.indexOf('\n')
  const sizes = JSON.parse(bytes.toString('utf8', 0, at++))
  for (const [file, size] of sizes) {
    mkdirSync(dirname(join(part, file)), { recursive: true })
    writeFileSync(join(part, file), bytes.subarray(at, (at += size)))
  }
  try {
    renameSync(part, target)
    return target
  } catch {
    if (!isUnpacked(target)) return part
    rmSync(part, { recursive: true })
    return target
  }
}
