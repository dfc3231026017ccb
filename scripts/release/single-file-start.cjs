// The main program of the single file: unpacks its files at the first start, then runs the command line from them.
const { chmodSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { dirname, join } = require('node:path')
const { getAsset, getRawAsset } = require('node:sea')
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

/** Returns the directory with the files, in one that only this user can write. */
function findDirectory() {
  const { XDG_CACHE_HOME, HOME, LOCALAPPDATA } = process.env
  const cache = XDG_CACHE_HOME || (HOME && join(HOME, '.cache')) || LOCALAPPDATA
  // A read-only home: a temporary directory serves as well.
  const parents = [...(cache ? [join(cache, 'tapgate')] : []), join(tmpdir(), `tapgate-${process.getuid?.() ?? ''}`)]
  let problem
  for (const parent of parents)
    try {
      makePrivate(parent)
      return provideFiles(parent)
    } catch (error) {
      problem = error
    }
  throw problem
}

function makePrivate(directory) {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (process.getuid === undefined) return
  const found = lstatSync(directory)
  if (!found.isDirectory() || found.uid !== process.getuid())
    throw new Error(`${directory} belongs to another user: set XDG_CACHE_HOME to a directory of your own`)
  if ((found.mode & 0o022) !== 0) chmodSync(directory, 0o700)
}

/** Unpacks what is missing, for example after a cleaner deleted old files. */
function provideFiles(parent) {
  const target = join(parent, `files-${DIGEST}`)
  const sizes = JSON.parse(getAsset('sizes', 'utf8'))
  if (isComplete(target, sizes)) return target
  const part = mkdtempSync(join(parent, 'part-'))
  const bytes = zstdDecompressSync(Buffer.from(getRawAsset('files')))
  let at = 0
  for (const [file, size] of sizes) {
    mkdirSync(dirname(join(part, file)), { recursive: true })
    writeFileSync(join(part, file), bytes.subarray(at, (at += size)))
  }
  // Renamed as a whole, so that a start that runs at the same time finds all files or none.
  try {
    rmSync(target, { recursive: true, force: true })
    renameSync(part, target)
  } catch (error) {
    rmSync(part, { recursive: true, force: true })
    if (!isComplete(target, sizes)) throw error
  }
  return target
}

function isComplete(directory, sizes) {
  return sizes.every(([file, size]) => statSync(join(directory, file), { throwIfNoEntry: false })?.size === size)
}
