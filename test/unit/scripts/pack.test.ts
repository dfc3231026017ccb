import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { directory, PACKAGE } from '../../e2e/cli/run.ts'

interface Small {
  readonly cwd: string
  manifest(): Promise<string>
  pack(...args: string[]): ReturnType<typeof spawnSync>
}

/** A small package that is packed as ours is. */
async function small(t: TestContext): Promise<Small> {
  const cwd = await directory(t, { 'there/.keep': '', file: '' })
  const { scripts } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const { prepack, postpack } = scripts
  const build = `node -e "fs.mkdirSync('dist/man', { recursive: true })"`
  const manifest = { name: 'small', version: '1.0.0', type: 'module', scripts: { prepack, postpack, build } }
  await writeFile(join(cwd, 'package.json'), JSON.stringify(manifest, undefined, 2))
  await mkdir(join(cwd, 'scripts'))
  await copyFile(join(PACKAGE, 'scripts/pack.ts'), join(cwd, 'scripts/pack.ts'))
  return {
    cwd,
    manifest: () => readFile(join(cwd, 'package.json'), 'utf8'),
    pack: (...args) =>
      spawnSync('npm', ['pack', ...args], {
        cwd,
        encoding: 'utf8',
        shell: process.platform === 'win32',
      }),
  }
}

test('npm pack into a directory that is not there says so, and leaves package.json and dist as they are', async t => {
  const { cwd, manifest, pack } = await small(t)
  const before = await manifest()
  await mkdir(join(cwd, 'dist'))

  for (const missing of ['nowhere', 'file']) {
    const { status, stderr } = pack('--pack-destination', missing)
    assert.notEqual(status, 0)
    assert.match(String(stderr), new RegExp(`--pack-destination .*${missing} is no directory`))
    assert.equal(await manifest(), before)
    assert.deepEqual(await readdir(join(cwd, 'dist')), [])
  }
})

test('npm pack strips what it packs, and restores package.json', async t => {
  const { cwd, manifest, pack } = await small(t)
  const before = await manifest()

  const { status, stderr } = pack('--pack-destination', 'there')

  assert.equal(status, 0, String(stderr))
  assert.equal(await manifest(), before)
  const { stdout } = spawnSync('tar', ['-xzOf', 'there/small-1.0.0.tgz', 'package/package.json'], {
    cwd,
    encoding: 'utf8',
  })
  assert.equal('scripts' in (JSON.parse(stdout) as object), false)
})
