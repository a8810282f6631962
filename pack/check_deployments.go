package pack

import "strconv"

// checkDeploymentDefaults: where there are defaults, one lineup is the default.
func checkDeploymentDefaults(c *checker) {
	const field = "version.deployment_defaults"
	d := c.Version.DeploymentDefaults
	if d == nil {
		return
	}
	for _, key := range sortedKeys(d.Aliases) {
		at := named(field+".aliases", key)
		switch {
		case key == "":
			c.fail(at, "needs a name")
		case d.Aliases[key] == "" && !c.rep.isBroken(join(field+".aliases", key)):
			c.fail(at, "needs the deployment it stands for")
		}
	}
	if len(d.Lineups) == 0 {
		c.fail(field+".lineups", "needs a lineup called default")
		return
	}
	if _, ok := d.Lineups["default"]; !ok {
		c.fail(field+".lineups.default", "is required")
	}
	for _, key := range sortedKeys(d.Lineups) {
		at := named(field+".lineups", key)
		if key == "" {
			c.fail(at, "needs a name")
		}
		if len(d.Lineups[key]) == 0 && !c.rep.isBroken(join(field+".lineups", key)) {
			c.fail(at, "must hold at least one alias or deployment")
		}
		for i, selector := range d.Lineups[key] {
			c.require(indexed(at, i), selector)
		}
	}
	c.warn(field, "is not used yet: name deployments when a run is started")
}

func named(field, key string) string { return field + "[" + strconv.Quote(clip(key)) + "]" }
