/**
 * Shows where the time of a gateway went: `profile.ts <file.cpuprofile> [rows] [seconds to skip]` prints each part's share,
 * and the functions with the most time of their own. `npm run bench -- --profile <directory>` writes such files.
 */
import { functionsOf, partsOf, readProfile, type Shares } from './profile-shares.ts'

const [file = '', rows = '40', skip = '0'] = process.argv.slice(2)
const profile = readProfile(file)
const window = { from: Number(skip), until: Infinity }
print(partsOf(profile, window))
console.log('')
print(functionsOf(profile, window).slice(0, Number(rows)))

function print(shares: Shares): void {
  for (const { name, share } of shares) console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${name}`)
}
